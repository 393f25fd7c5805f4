/* test_shape_files.c - bench/shapes: problems that the library serves, and no pair of options
 * missing
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench_args.h"
#include "bench_case.h"

enum { MOST_OPTIONS = 32, LEAST_OPTIONS = 15 };

static void read_shapes(const char *name, struct bench_args *args) {
  char path[4096], message[1024];
  memset(args, 0, sizeof *args);
  snprintf(path, sizeof path, "%s/%s", BENCH_SHAPES, name);
  if (bench_args_read_shapes(args, path, message, sizeof message) != 0) fail_msg("%s", message);
}

/* Files of one model family, which have a batch of 1 and one of 8. */
static int is_model(const char *name) {
  static const char *const others[] = {"pairs.txt", "cliffs.txt", "types.txt", "reports-b.txt",
                                       "backward.txt"};
  for (size_t i = 0; i < sizeof others / sizeof *others; i++)
    if (strcmp(name, others[i]) == 0) return 0;
  return 1;
}

/* Nothing that the library would refuse. */
static void our_shapes_are_problems_that_are_served(void **state) {
  DIR *folder = opendir(BENCH_SHAPES);
  struct dirent *entry;
  int models = 0, others = 0;
  (void)state;
  assert_non_null(folder);
  while ((entry = readdir(folder)) != NULL) {
    char message[1024];
    struct bench_args args;
    int batches = 0;
    if (!strstr(entry->d_name, ".txt")) continue;
    read_shapes(entry->d_name, &args);
    for (int i = 0; i < args.problems; i++) {
      const struct bench_choice choice = {0};
      struct bench_case *c = malloc(sizeof *c);
      assert_non_null(c);
      if (bench_case_open(c, args.problem[i], &choice, message, sizeof message) != 0)
        fail_msg("%s: %s: %s", entry->d_name, args.problem[i], message);
      batches |= c->spec.problem.batch == 1 ? 1 : c->spec.problem.batch == 8 ? 2 : 4;
      bench_case_close(c);
      free(c);
    }
    if (is_model(entry->d_name)) {
      assert_int_equal(batches, 3);
      models++;
    } else {
      others++;
    }
    bench_args_free(&args);
  }
  closedir(folder);
  assert_int_equal(models, 5);
  assert_int_equal(others, 5);
}

/* The options of pairs.txt: the lines with one option name them. */
struct option_list {
  char name[MOST_OPTIONS][24];
  int count;
  int pairs[MOST_OPTIONS][MOST_OPTIONS];
};

static int number_of(struct option_list *list, const char *name, int add) {
  for (int i = 0; i < list->count; i++)
    if (strcmp(list->name[i], name) == 0) return i;
  if (!add) fail_msg("pairs.txt has no line with %s alone", name);
  assert_true(list->count < MOST_OPTIONS);
  snprintf(list->name[list->count], sizeof list->name[0], "%s", name);
  return list->count++;
}

/* Splits a problem into its words and keeps those that are options, another type among them: not of
 * the shape that all lines have, and no alignment that an option needs. */
static int options_of(const char *problem, char options[][24]) {
  static const char *const common[] = {"f32", "h8", "q1024", "k1024", "d64", "align-tl"};
  int count = 0;
  while (*problem) {
    const size_t length = strcspn(problem, ":");
    int is_common = 0;
    for (size_t i = 0; i < sizeof common / sizeof *common; i++)
      is_common |= strlen(common[i]) == length && strncmp(common[i], problem, length) == 0;
    if (!is_common) {
      assert_true(count < 3);
      snprintf(options[count++], 24, "%.*s", (int)length, problem);
    }
    problem += length + (problem[length] == ':');
  }
  return count;
}

static void every_pair_of_options_has_its_line(void **state) {
  (void)state;
  static struct option_list list;
  struct bench_args args;
  int lines[3] = {0, 0, 0};
  char options[3][24];
  read_shapes("pairs.txt", &args);
  for (int i = 0; i < args.problems; i++) {
    const int count = options_of(args.problem[i], options);
    assert_in_range(count, 0, 2);
    if (count == 1) number_of(&list, options[0], 1);
    lines[count]++;
  }
  for (int i = 0; i < args.problems; i++) {
    if (options_of(args.problem[i], options) != 2) continue;
    const int a = number_of(&list, options[0], 0), b = number_of(&list, options[1], 0);
    list.pairs[a][b]++;
    list.pairs[b][a]++;
  }
  for (int a = 0; a < list.count; a++)
    for (int b = 0; b < list.count; b++)
      if (list.pairs[a][b] != (a != b))
        fail_msg("pairs.txt has %d lines with %s and %s", list.pairs[a][b], list.name[a],
                 list.name[b]);
  assert_int_equal(lines[0], 1);
  assert_int_equal(lines[1], list.count);
  assert_true(list.count >= LEAST_OPTIONS);
  bench_args_free(&args);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(our_shapes_are_problems_that_are_served),
      cmocka_unit_test(every_pair_of_options_has_its_line),
  };
  return cmocka_run_group_tests_name("shape files", tests, NULL, NULL);
}

/* fuzz_problem_string.c - fuzzes the parser and the printer of problem strings
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The input is the string. Parsing it never crashes; an error has a sentence; what parses prints as
 * a string that parses to the same bytes and prints as itself; the library judges the problem alike
 * in every way to ask, and a small problem that it accepts, filled with data, also runs.
 */
#include "fuzz_support.h"

#include <stdlib.h>
#include <string.h>

#include "problem_data.h"
#include "problem_string.h"

enum { LONGEST = 2 * PROBLEM_STRING_MAX };

static void check_round_trip(const struct problem_spec *spec, size_t room) {
  static char text[PROBLEM_STRING_MAX], again[PROBLEM_STRING_MAX];
  static struct problem_spec other;
  char message[PROBLEM_MESSAGE_MAX];
  const size_t length = problem_print(spec, text, sizeof text);
  fuzz_require(length < sizeof text, "a canonical string of %zu bytes", length);
  fuzz_require(strlen(text) == length, "length %zu of %s", length, text);
  fuzz_require(problem_parse(text, &other, message, sizeof message) == 0, "%s: %s", text, message);
  fuzz_require(memcmp(spec, &other, sizeof other) == 0, "%s is another problem", text);
  fuzz_require(problem_print(&other, again, sizeof again) == length && !strcmp(text, again),
               "%s prints as %s", text, again);
  char *cut = fuzz_block(room);
  fuzz_require(problem_print(spec, cut, room) == length, "another length in %zu bytes", room);
  fuzz_require(room == 0 || (!strncmp(cut, text, room - 1) && memchr(cut, 0, room)),
               "%s is cut wrongly to %zu bytes", text, room);
  free(cut);
}

static void run_forward(const struct problem_data *data, const sdpa_options *options) {
  char text[512];
  sdpa_plan *plan;
  fuzz_require(sdpa_plan_create(&data->problem, options, &plan) == SDPA_OK, "no plan");
  const sdpa_status status = sdpa_args_check(plan, &data->args, NULL, 0, text, sizeof text);
  fuzz_require(status == SDPA_OK, "arguments of a whole problem: %s", text);
  fuzz_require(sdpa_execute(plan, &data->args, NULL, 0) == SDPA_OK, "it does not run");
  sdpa_plan_destroy(plan);
}

static void run_backward(const struct problem_data *data, const sdpa_options *options) {
  const sdpa_args args = problem_data_backward_args(data);
  char text[512];
  sdpa_plan *plan;
  fuzz_require(sdpa_plan_create_backward(&data->problem, options, &plan) == SDPA_OK, "no plan");
  const sdpa_status status =
      sdpa_backward_check(plan, &args, &data->grads, NULL, 0, text, sizeof text);
  fuzz_require(status == SDPA_OK, "arguments of a whole problem: %s", text);
  fuzz_require(sdpa_backward(plan, &args, &data->grads, NULL, 0) == SDPA_OK, "it does not run");
  sdpa_plan_destroy(plan);
}

/* Data as the string says, in memory of their own. */
static void run(const struct problem_spec *spec, const sdpa_options *options) {
  struct problem_data data;
  char message[PROBLEM_MESSAGE_MAX];
  fuzz_require(problem_data_make(&data, spec, NULL, message, sizeof message) == 0, "%s", message);
  fuzz_require(problem_data_snapshot(&data) == 0, "no memory for a snapshot");
  if (spec->backward)
    run_backward(&data, options);
  else
    run_forward(&data, options);
  fuzz_require(problem_data_untouched(&data, 0, message, sizeof message) == 0, "%s", message);
  problem_data_free(&data);
}

static void check_library(const struct problem_spec *spec, size_t room) {
  const sdpa_options options = {.size = sizeof options, .precision = spec->precision, .threads = 2};
  const sdpa_problem *problem = &spec->problem;
  sdpa_plan *plan = NULL;
  char *text = fuzz_block(room);
  const sdpa_status status = spec->backward
                                 ? sdpa_problem_check_backward(problem, &options, text, room)
                                 : sdpa_problem_check(problem, &options, text, room);
  fuzz_check_text(status, text, room);
  free(text);
  const sdpa_status created = spec->backward ? sdpa_plan_create_backward(problem, &options, &plan)
                                             : sdpa_plan_create(problem, &options, &plan);
  fuzz_require(created == status, "checked %d, created %d", (int)status, (int)created);
  fuzz_require((created == SDPA_OK) == (plan != NULL), "status %d, plan %p", (int)created,
               (void *)plan);
  sdpa_plan_destroy(plan);
  if (status == SDPA_OK && fuzz_is_small(problem, (int)spec->backward)) run(spec, &options);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static struct problem_spec spec;
  if (size > LONGEST) return 0;
  const size_t room = size % PROBLEM_MESSAGE_MAX;
  char *text = fuzz_block(size + 1), *message = fuzz_block(room);
  if (size > 0) memcpy(text, data, size);
  text[size] = '\0';
  if (problem_parse(text, &spec, message, room) == 0) {
    fuzz_require(room == 0 || !*message, "%s: no error, but %s", text, message);
    check_round_trip(&spec, room);
    check_library(&spec, room);
  } else {
    fuzz_require(room < 2 || *message, "%s: an error without a sentence", text);
    fuzz_require(room == 0 || memchr(message, 0, room), "a message is not terminated");
  }
  free(message);
  free(text);
  return 0;
}

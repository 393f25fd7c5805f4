/* test_unload.c - libsdpa.so loaded, used on its own threads, and unloaded again
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * This program is not linked to the library. dlclose() must end the library's threads, also those
 * that are just about to sleep, and leave nothing behind: no thread, no mapping of memory, no key
 * of thread-local data, no open file.
 */
#define _POSIX_C_SOURCE 200809L
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <dirent.h>
#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <sdpa/sdpa.h>

#include "sanitizers.h"

enum { HEADS = 4, LEN = 128, DIM = 32, ELEMENTS = HEADS * LEN * DIM, PATIENCE = 100000 };

static const char library_path[] = SDPA_LIBRARY; /* set by the build */
static float input[ELEMENTS], output[ELEMENTS], expected[ELEMENTS];

/* The functions of one load. */
struct library {
  void *handle;
  sdpa_status (*init)(sdpa_problem *problem, size_t size);
  sdpa_status (*layout)(sdpa_problem *problem, uint32_t layout);
  sdpa_status (*attention)(const sdpa_problem *problem, const sdpa_options *options,
                           const sdpa_args *args);
};

static void find(const struct library *library, const char *name, void *function) {
  void *symbol = dlsym(library->handle, name);
  assert_non_null(symbol);
  memcpy(function, &symbol, sizeof symbol);
}

static void load(struct library *library) {
  library->handle = dlopen(library_path, RTLD_NOW | RTLD_LOCAL);
  if (!library->handle) fail_msg("%s", dlerror());
  find(library, "sdpa_problem_init", &library->init);
  find(library, "sdpa_problem_layout", &library->layout);
  find(library, "sdpa_attention", &library->attention);
}

static int is_loaded(void) {
  void *handle = dlopen(library_path, RTLD_NOW | RTLD_NOLOAD);
  if (handle) dlclose(handle);
  return handle != NULL;
}

static void use(const struct library *library, int32_t threads, float *result) {
  sdpa_problem p;
  const sdpa_options options = {
      .size = sizeof options, .engine = SDPA_ENGINE_TILED, .threads = threads};
  const sdpa_args args = {
      .size = sizeof args, .query = input, .key = input, .value = input, .output = result};
  assert_int_equal(library->init(&p, sizeof p), SDPA_OK);
  p.query_type = SDPA_F32;
  p.batch = 1;
  p.query_heads = p.kv_heads = HEADS;
  p.query_len = p.key_len = LEN;
  p.key_dim = p.value_dim = DIM;
  assert_int_equal(library->layout(&p, SDPA_LAYOUT_BHSD), SDPA_OK);
  assert_int_equal(library->attention(&p, &options, &args), SDPA_OK);
}

/* Threads of this process, and of those the ones that are named "sdpa": a new one is not yet. */
static int count_threads(int *named) {
  DIR *folder = opendir("/proc/self/task");
  int count = 0;
  *named = 0;
  assert_non_null(folder);
  for (const struct dirent *entry; (entry = readdir(folder)) != NULL;) {
    char path[300], name[32] = "";
    if (entry->d_name[0] == '.') continue;
    count++;
    snprintf(path, sizeof path, "/proc/self/task/%s/comm", entry->d_name);
    FILE *file = fopen(path, "r");
    if (!file) continue;
    if (!fgets(name, sizeof name, file)) name[0] = '\0';
    fclose(file);
    *named += strcmp(name, "sdpa\n") == 0;
  }
  closedir(folder);
  return count;
}

/* A thread that has been joined is still listed for a moment. */
static void assert_no_threads(void) {
  const struct timespec moment = {0, 100000};
  int named = 1;
  for (int i = 0; i < PATIENCE && named > 0; i++) {
    nanosleep(&moment, NULL);
    count_threads(&named);
  }
  assert_int_equal(named, 0);
}

static void test_unload(void **state) {
  (void)state;
  struct library library;
  int named;
  for (int i = 0; i < ELEMENTS; i++) input[i] = (float)(i * 37 % 101) / 50 - 1;
  load(&library);
  use(&library, 1, expected);
  count_threads(&named);
  assert_int_equal(named, 0);
  dlclose(library.handle);
  for (int i = 0; i < 60; i++) {
    const int32_t threads = 1 + i % 4;
    const struct timespec pause = {0, i % 7 * 10000};
    load(&library);
    const int before = count_threads(&named); /* a BLAS may have threads, too */
    if (i % 10 != 9) {                        /* sometimes loaded for nothing */
      memset(output, 0, sizeof output);
      use(&library, threads, output);
      assert_memory_equal(output, expected, sizeof output);
      assert_int_equal(count_threads(&named), before + threads - 1);
    }
    nanosleep(&pause, NULL);
    assert_int_equal(dlclose(library.handle), 0);
    assert_no_threads();
  }
  assert_false(is_loaded());
}

/* ---- what is left behind ---- */

enum { WARM_TURNS = 20, TURNS = 200, MOST_KEYS = PTHREAD_KEYS_MAX };

struct holdings {
  int mappings, threads, keys, files;
};

static int count_lines(const char *path) {
  FILE *file = fopen(path, "r");
  int lines = 0;
  assert_non_null(file);
  for (int c; (c = getc(file)) != EOF;) lines += c == '\n';
  fclose(file);
  return lines;
}

static int count_files(void) {
  DIR *folder = opendir("/proc/self/fd");
  int count = 0;
  assert_non_null(folder);
  while (readdir(folder)) count++;
  closedir(folder);
  return count;
}

/* The keys that a program can still make. */
static int count_free_keys(void) {
  static pthread_key_t keys[MOST_KEYS];
  int count = 0;
  while (count < MOST_KEYS && pthread_key_create(&keys[count], NULL) == 0) count++;
  for (int i = 0; i < count; i++) pthread_key_delete(keys[i]);
  return count;
}

static struct holdings take_stock(void) {
  int named;
  const struct holdings stock = {.mappings = count_lines("/proc/self/maps"),
                                 .threads = count_threads(&named),
                                 .keys = count_free_keys(),
                                 .files = count_files()};
  return stock;
}

/* Used on one to four threads, unloaded while its workers spin or sleep. */
static void turn(int i) {
  struct library library;
  const struct timespec pause = {0, i % 7 * 10000};
  load(&library);
  memset(output, 0, sizeof output);
  use(&library, 1 + i % 4, output);
  nanosleep(&pause, NULL);
  assert_int_equal(dlclose(library.handle), 0);
  assert_no_threads();
  assert_memory_equal(output, expected, sizeof output);
}

/* The C library keeps some stacks of ended threads, so a few turns come first. */
static void test_nothing_left(void **state) {
  (void)state;
  if (SANITIZED) skip(); /* it maps memory as it goes */
  for (int i = 0; i < WARM_TURNS; i++) turn(i);
  const struct holdings before = take_stock();
  for (int i = 0; i < TURNS; i++) turn(i);
  const struct holdings after = take_stock();
  print_message("after %d turns: %d mappings (%d before), %d threads (%d), %d free keys (%d), "
                "%d files (%d)\n",
                TURNS, after.mappings, before.mappings, after.threads, before.threads, after.keys,
                before.keys, after.files, before.files);
  assert_int_equal(after.threads, before.threads);
  assert_int_equal(after.keys, before.keys);
  assert_int_equal(after.files, before.files);
  assert_true(after.mappings < before.mappings + TURNS / 20);
  assert_false(is_loaded());
}

int main(void) {
#if !defined(__GLIBC__)
  puts("skipped: this C library's dlclose() may keep what it has loaded, as musl's does");
  return 77;
#endif
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_unload),
      cmocka_unit_test(test_nothing_left),
  };
  return cmocka_run_group_tests_name("unload", tests, NULL, NULL);
}

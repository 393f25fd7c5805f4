/* test_unload.c - libsdpa.so loaded, used on its own threads, and unloaded again
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * This program is not linked to the library. dlclose() must end the library's threads, also those
 * that are just about to sleep, and leave nothing behind.
 */
#define _POSIX_C_SOURCE 200809L
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <dirent.h>
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <sdpa/sdpa.h>

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

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_unload)};
  return cmocka_run_group_tests_name("unload", tests, NULL, NULL);
}

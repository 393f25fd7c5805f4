/* pool_module.c - a shared library around the thread pool, for tests that load and unload it
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "pool_module.h"

#include <stdatomic.h>

#include "runtime/parallel.h"

static void add_item(void *arg, int64_t item, int64_t slot) {
  _Atomic int64_t *sum = arg;
  (void)slot;
  atomic_fetch_add(sum, item);
}

int64_t pool_module_sum(int32_t threads, int64_t items) {
  const struct sdpai_parallel parallel = {.threads = threads};
  _Atomic int64_t sum = 0;
  if (sdpai_parallel_run(&parallel, items, add_item, &sum) != 0) return -1;
  return atomic_load(&sum);
}

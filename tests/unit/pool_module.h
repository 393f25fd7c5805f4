/* pool_module.h - a shared library around the thread pool, for tests that load and unload it
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef POOL_MODULE_H
#define POOL_MODULE_H

#include <stdint.h>

/* 0 + 1 + ... + (items - 1), computed on the module's own pool. */
int64_t pool_module_sum(int32_t threads, int64_t items);
typedef int64_t (*pool_module_function)(int32_t threads, int64_t items);

#endif

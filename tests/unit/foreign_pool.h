/* foreign_pool.h - a plain thread pool that knows nothing of the library
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef FOREIGN_POOL_H
#define FOREIGN_POOL_H

/* Starts `threads` threads (1 .. 16). */
void *pool_start(int threads);

/* Runs function(argument) on one of them, soon. */
void pool_submit(void *pool, void (*function)(void *), void *argument);

/* Returns when everything that was submitted has ended. */
void pool_wait(void *pool);

void pool_stop(void *pool);

#endif

/* lesson_compare.h - dot-product against additive attention: same shapes, time, memory
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef LESSON_COMPARE_H
#define LESSON_COMPARE_H

#include <stdint.h>
#include <stdio.h>

/* Computes both at n = 512, d = 64 on the same random query, key and value, times them and prints a
 * short table. 0, or -1 after one sentence on stderr. */
int lesson_print_comparison(FILE *out, uint64_t seed);

#endif

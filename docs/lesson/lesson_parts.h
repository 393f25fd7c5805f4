/* lesson_parts.h - the three programs of the lesson, each as one function
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Every figure that is printed was computed by the library's public functions. The functions return
 * 0, or -1 after one sentence on stderr; lines that were complete by then stay printed.
 */
#ifndef LESSON_PARTS_H
#define LESSON_PARTS_H

#include <sdpa/sdpa.h>

#include <stdint.h>
#include <stdio.h>

enum { lesson_cases = 3, lesson_keys = 2, lesson_dims = 4 };

/* The two keys of the lesson's example. */
extern const double lesson_example_keys[lesson_keys][lesson_dims];

/* A query, its pair of scores and what the softmax makes of it. */
struct lesson_case {
  const char *name;
  double query[lesson_dims];
  int scaled; /* whether the scores are divided by sqrt(d_k) */
  double scores[lesson_keys], weights[lesson_keys];
  double largest_gradient; /* largest absolute entry of the softmax's Jacobian */
};

/* The lesson's example: one query, two keys, without the scale and with it, and scores (10, 1),
 * which the lesson gives as such: of the queries that have them the shortest. */
int lesson_compute_cases(struct lesson_case cases[lesson_cases]);

/* "Softmax and its gradient": three lines. */
int lesson_print_softmax(FILE *out);

/* "Why the divisor is sqrt(d_k)": 100,000 random dot products for each of three d_k, three lines.
 */
int lesson_print_variance(FILE *out, uint64_t seed);

/* "Computing the full attention matrix": n = 3, 512, 4096, three lines. */
int lesson_print_attention(FILE *out, uint64_t seed);

/* Says "sdpa-lesson: <what>: <the status in words>" on stderr. Returns -1. */
int lesson_fail(const char *what, sdpa_status status);

/* n in decimal digits, grouped by commas in threes. text has at least 28 bytes and is returned. */
char *lesson_group_digits(int64_t n, char *text);

#endif

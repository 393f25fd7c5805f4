/* lesson_gradient.h - what of the softmax's gradient reaches the query, by the backward pass
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef LESSON_GRADIENT_H
#define LESSON_GRADIENT_H

#include "lesson_parts.h"

/* Sets *largest to the largest absolute derivative of a weight of the case by a component of its
 * query. */
sdpa_status lesson_query_gradient(const struct lesson_case *c, double *largest);

/* "The gradient that reaches q": a line for each of the lesson's three cases. 0, or -1 after one
 * sentence on stderr. */
int lesson_print_gradient(FILE *out);

#endif

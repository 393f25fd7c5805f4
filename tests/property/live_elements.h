/* live_elements.h - which input elements may influence an output, and garbage in all others
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Elements are told apart by address, so that broadcast and overlapping inputs are right: one is
 * live if any position that lies there is. By semantics rules 10 and 11 these are live:
 *
 * - K and V of a key, and Q of a row, if some pair with it is allowed; Q and K, if scores before
 * the bias are asked for, if some pair is within the lengths
 * - mask bytes, if lengths, causal and window allow the position
 * - biases, if these and the mask do
 *
 * - dO and dlse of a row, if some key of it is allowed; output and lse within the query lengths, as
 * the forward pass wrote them
 *
 * or, by `bias_first`, all biases of the former kind, and mask bytes where the bias excludes
 * nothing either: a position that both exclude needs one of the two.
 */
#ifndef LIVE_ELEMENTS_H
#define LIVE_ELEMENTS_H

#include <stdint.h>

#include "numpy_random.h"
#include "problem_data.h"

struct live_elements {
  unsigned char
      *live[PROBLEM_TENSORS_END]; /* one byte for each byte of the block; NULL: none there */
};

/* Marks what the rows of one batch entry and head need; -1 for all of them. bias_first: see above.
 */
void live_elements_make(struct live_elements *live, const struct problem_data *data, int64_t batch,
                        int64_t head, int bias_first);
void live_elements_free(struct live_elements *live);

/* Overwrites every accessible element place of the inputs that is not live, gaps and margins too,
 * with NaN, infinities, huge numbers and, in masks, any byte. Returns how many. */
int64_t live_elements_plant(const struct live_elements *live, struct problem_data *data,
                            struct numpy_rng *rng);

#endif

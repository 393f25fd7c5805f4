/* dropout_mask.h - which weights dropout keeps, from the text of sdpa.h alone
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Philox4x32-10 (Salmon, Moraes, Dror, Shaw: Parallel Random Numbers: As Easy as 1, 2, 3; SC 2011)
 * and the mapping of positions that sdpa.h documents. No code is shared with the library.
 */
#ifndef DROPOUT_MASK_H
#define DROPOUT_MASK_H

#include <stdint.h>

#include <sdpa/sdpa.h>

/* The four words of a counter under a key. */
void dropout_philox(const uint32_t counter[4], const uint32_t key[2], uint32_t words[4]);

/* Sets kept[j] for the key_len keys of one row: 1, or 0 where dropout makes its weight 0. */
void dropout_mask_row(const sdpa_problem *problem, const sdpa_args *args, int64_t batch,
                      int64_t head, int64_t row, uint8_t *kept);

#endif

/* dropout_mask.c - which weights dropout keeps, from the text of sdpa.h alone
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Philox as the paper's section 3.3 has it: in each round two products of 32 by 32 bits, of whose
 * upper halves each is mixed with a word and a word of the key, which a Weyl sequence moves on
 * between the rounds.
 */
#include "dropout_mask.h"

#include <math.h>
#include <string.h>

static uint32_t upper(uint32_t a, uint32_t b) {
  return (uint32_t)((uint64_t)a * b >> 32);
}

void dropout_philox(const uint32_t counter[4], const uint32_t key[2], uint32_t words[4]) {
  const uint32_t multiplier[2] = {0xD2511F53u, 0xCD9E8D57u}, weyl[2] = {0x9E3779B9u, 0xBB67AE85u};
  memcpy(words, counter, 4 * sizeof *words);
  for (uint32_t round = 0; round < 10; round++) {
    const uint32_t old[4] = {words[0], words[1], words[2], words[3]};
    words[0] = upper(multiplier[1], old[2]) ^ old[1] ^ (key[0] + round * weyl[0]);
    words[1] = multiplier[1] * old[2];
    words[2] = upper(multiplier[0], old[0]) ^ old[3] ^ (key[1] + round * weyl[1]);
    words[3] = multiplier[0] * old[0];
  }
}

/* One link of the chain: the state becomes the block of the number, under its first two words. */
static void link_number(uint32_t state[4], uint64_t number) {
  const uint32_t counter[4] = {(uint32_t)(number & 0xFFFFFFFFu), (uint32_t)(number >> 32), state[2],
                               state[3]};
  const uint32_t key[2] = {state[0], state[1]};
  dropout_philox(counter, key, state);
}

void dropout_mask_row(const sdpa_problem *problem, const sdpa_args *args, int64_t batch,
                      int64_t head, int64_t row, uint8_t *kept) {
  const double threshold = floor(problem->dropout * 4294967296.0);
  uint32_t state[4] = {(uint32_t)(args->dropout_seed & 0xFFFFFFFFu),
                       (uint32_t)(args->dropout_seed >> 32), 0, 0};
  uint32_t block[4];
  link_number(state, args->dropout_offset);
  link_number(state, (uint64_t)(args->dropout_batch + batch));
  link_number(state, (uint64_t)(args->dropout_head + head));
  link_number(state, (uint64_t)(args->dropout_query + row));
  for (int64_t j = 0; j < problem->key_len; j++) {
    const int64_t key = args->dropout_key + j;
    if (j == 0 || key % 4 == 0) {
      memcpy(block, state, sizeof block);
      link_number(block, (uint64_t)(key / 4));
    }
    kept[j] = (double)block[key % 4] >= threshold;
  }
}

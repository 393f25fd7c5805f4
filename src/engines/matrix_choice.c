/* matrix_choice.c - when the matrix unit is faster than multiply-adds
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A model of one core, in hundredths of a cycle a score, from what prototypes took on a Sapphire
 * Rapids at d = 64 with AVX-512: multiply-adds 5.0 cycles, 4.4 of them products; the unit 3.6 with
 * six products and 1.1 with one, the steps of a tile one after the other. Of these 1.65 and 0.28
 * are multiplications of 16 cycles, at 0.9 of their rate, and the rest exponentials, parts of
 * weights and traffic of tiles. Packing a key costs about 4 cycles for each 16 of its numbers and 2
 * for each part of them, whatever the number of rows that share it.
 */
#include "engines/matrix_choice.h"

#include "runtime/checked_math.h"

enum {
  MODEL_ROWS = 1 << 20, /* more change nothing */
  MODEL_DIM = 1 << 16
};

static int64_t padded(int64_t dim, int64_t tile) {
  return sdpai_tiles(sdpai_min(dim, MODEL_DIM), tile) * tile;
}

int sdpai_matrix_pays(const struct sdpai_problem *problem, const struct sdpai_matrix_parts *parts,
                      int64_t rows) {
  const int value = !(problem->features & SDPA_NO_OUTPUT);
  const int64_t key_dim = sdpai_min(problem->key_dim, MODEL_DIM);
  const int64_t value_dim = value ? sdpai_min(problem->value_dim, MODEL_DIM) : 0;
  const int64_t key_depth = padded(key_dim, SDPAI_TILE_DEPTH);
  const int64_t value_rows = padded(value_dim, SDPAI_TILE_ROWS);
  /* 32 multiply-adds a cycle, at 0.9 of their rate, and the exponentials */
  const int64_t fma = (key_dim + value_dim) * 110 / 32 + 60;
  /* 512 a cycle */
  const int64_t multiplications = (sdpai_matrix_products(parts->scores) * key_depth +
                                   sdpai_matrix_products(parts->output) * value_rows) *
                                  110 / 512;
  const int64_t others = 25 + 57 * sdpai_max(parts->scores.left, parts->output.right);
  const int64_t packing = ((400 + 200 * parts->scores.left) * key_depth +
                           (400 + 200 * parts->output.left) * value_rows) /
                          SDPAI_TILE_ROWS;
  rows = sdpai_min(rows, MODEL_ROWS);
  return rows * (multiplications + others) + packing < rows * fma;
}

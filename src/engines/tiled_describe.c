/* tiled_describe.c - what a plan of the `tiled` engine will run, in words
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "engines/tiled_describe.h"

#include "engines/tiled_scratch.h"

/* The two products of numbers, by how many products of how many bf16 parts of K, Q, V and
 * weights. */
static void describe_products(const struct sdpa_plan *plan, char *text, size_t bytes,
                              size_t *length) {
  const struct sdpai_parts scores = plan->tiled.matrix.scores, output = plan->tiled.matrix.output;
  if (scores.left == 0) {
    sdpai_append(text, bytes, length, ", products by multiply-adds");
    return;
  }
  sdpai_append(text, bytes, length, ", products on %s by bf16 parts: K %d, Q %d, %d products",
               plan->kernels->name, scores.left, scores.right, sdpai_matrix_products(scores));
  if (!(plan->problem.features & SDPA_NO_OUTPUT))
    sdpai_append(text, bytes, length, "; V %d, weights %d, %d products", output.left, output.right,
                 sdpai_matrix_products(output));
}

void sdpai_tiled_describe(const struct sdpa_plan *plan, char *text, size_t bytes, size_t *length) {
  const struct sdpai_tiled_plan *t = &plan->tiled;
  if (t->by_rows) {
    sdpai_append(text, bytes, length, "tiles of %d keys for %lld query rows a kv head, by rows",
                 (int)t->super_keys, (long long)t->item_rows);
  } else {
    sdpai_append(text, bytes, length, "tiles of %d keys by %lld queries, %lld panels %s",
                 SDPAI_TILE_KEYS, (long long)t->width, (long long)t->panels,
                 plan->backward ? "a chunk" : "an item");
  }
  if (t->splits > 1)
    sdpai_append(text, bytes, length, ", keys in %lld %s%s", (long long)t->splits,
                 plan->backward ? "groups" : "parts", t->split_items ? " at a time" : "");
  const struct sdpai_types *types = &plan->problem.types;
  if (t->packs_key)
    sdpai_append(text, bytes, length, ", K %s",
                 types->key != types->compute ? "converted" : "packed");
  if (t->packs_value && !t->narrow_value)
    sdpai_append(text, bytes, length, ", V %s",
                 types->value != types->compute ? "converted" : "packed");
  describe_products(plan, text, bytes, length);
  sdpai_append(text, bytes, length, "; up to %d threads", (int)t->slots);
}

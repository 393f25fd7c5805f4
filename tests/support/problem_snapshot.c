/* problem_snapshot.c - what a call has changed in the memory of a problem
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The element bytes of an output are taken out of the comparison by copying them from the snapshot
 * into a scratch copy of the block: what then differs lies between or around the elements.
 */
#include "problem_data.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int problem_data_snapshot(struct problem_data *data) {
  for (int i = 0; i < PROBLEM_BLOCKS; i++) {
    struct memory_block *block = &data->block[i];
    if (block->bytes == 0) continue;
    if (!block->copy) block->copy = malloc(block->bytes);
    if (!block->copy) return -1;
    memcpy(block->copy, block->begin, block->bytes);
  }
  return 0;
}

void problem_data_restore(struct problem_data *data, int outputs_only) {
  for (int i = 0; i < PROBLEM_BLOCKS; i++) {
    struct memory_block *block = &data->block[i];
    if (block->bytes == 0 || (outputs_only && !problem_data_is_written(data, i))) continue;
    memcpy(block->begin, block->copy, block->bytes);
  }
}

/* Of an array without strides. */
static void erase_array(const struct problem_data *data, int which, unsigned char *now) {
  const struct memory_block *block = &data->block[which];
  const ptrdiff_t first = block->origin - block->begin;
  memcpy(now + first, block->copy + first,
         (size_t)data->problem.query_heads *
             problem_type_bytes(problem_compute_type(&data->problem)));
}

/* Puts the snapshot's bytes at every element of `now`, a copy of the block. */
static void erase_elements(const struct problem_data *data, enum problem_tensor tensor,
                           unsigned char *now) {
  const struct memory_block *block = &data->block[tensor];
  size_t bytes = problem_type_bytes(problem_type(&data->problem, tensor));
  int64_t shape[4];
  problem_shape(&data->problem, tensor, shape);
  for (int64_t b = 0; b < shape[0]; b++) {
    for (int64_t h = 0; h < shape[1]; h++) {
      for (int64_t i = 0; i < shape[2]; i++) {
        for (int64_t j = 0; j < shape[3]; j++) {
          unsigned char *element = problem_data_at(data, tensor, b, h, i, j);
          memcpy(now + (element - block->begin), block->copy + (element - block->begin), bytes);
        }
      }
    }
  }
}

static size_t first_difference(const unsigned char *a, const unsigned char *b, size_t bytes) {
  size_t i = 0;
  if (bytes == 0 || memcmp(a, b, bytes) == 0) return bytes;
  while (a[i] == b[i]) i++;
  return i;
}

int problem_data_untouched(const struct problem_data *data, int outputs_too, char *message,
                           size_t message_bytes) {
  static const char *const arrays[] = {"alibi_slopes",     "sinks",   "key_lens",
                                       "query_lens",       "offsets", "grad_sinks",
                                       "grad_alibi_slopes"};
  for (int i = 0; i < PROBLEM_BLOCKS; i++) {
    const struct memory_block *block = &data->block[i];
    unsigned char *now = NULL;
    if (block->bytes == 0) continue;
    const int is_array = i >= PROBLEM_TENSORS && i < PROBLEM_GRAD_OUTPUT;
    if (problem_data_is_written(data, i) && !outputs_too) {
      now = malloc(block->bytes);
      if (!now) abort();
      memcpy(now, block->begin, block->bytes);
      if (is_array)
        erase_array(data, i, now);
      else
        erase_elements(data, (enum problem_tensor)i, now);
    }
    size_t place = first_difference(now ? now : block->begin, block->copy, block->bytes);
    free(now);
    if (place == block->bytes) continue;
    snprintf(message, message_bytes, "byte %td from the first element of '%s' was written",
             (ptrdiff_t)((uintptr_t)(block->begin + place) - (uintptr_t)block->origin),
             is_array ? arrays[i - PROBLEM_TENSORS] : problem_tensor_name((enum problem_tensor)i));
    return -1;
  }
  return 0;
}

/* problem_data.h - memory and seeded data for a problem spec
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Every tensor gets the strides that the spec says. What lies between and around its elements, and
 * every element that semantics rule 11 says is never read (keys beyond the length, rows beyond the
 * query length), holds the bytes 0xFF: NaN in every floating-point type, "attend" in a mask. Data
 * depend on the seed and on the tensor, not on which other tensors there are.
 *
 * A spec with `bwd` has the tensors of the backward pass, too. Its output and lse are inputs of that
 * pass, which somebody has to write first: the forward pass, or gradient_inputs.h.
 */
#ifndef PROBLEM_DATA_H
#define PROBLEM_DATA_H

#include "guard_pages.h"
#include "problem_shape.h"
#include "problem_string.h"

/* The tensors of problem_shape.h and, in the numbers that these leave out, the arrays that have no
 * strides. A number is also that of a random stream, so none may change. */
enum problem_block {
  BLOCK_SLOPES = PROBLEM_TENSORS,
  BLOCK_SINKS,
  BLOCK_KEY_LENS,
  BLOCK_QUERY_LENS,
  BLOCK_OFFSETS,
  BLOCK_GRAD_SINKS,
  BLOCK_GRAD_SLOPES,
  PROBLEM_BLOCKS = PROBLEM_TENSORS_END
};
_Static_assert((int)BLOCK_GRAD_SLOPES < (int)PROBLEM_GRAD_OUTPUT, "two blocks have one number");

enum problem_placement {
  PLACE_PLAIN,      /* 64-byte aligned, with margins of 0xFF that no one may write */
  PLACE_SKEWED,     /* the same, aligned to the element only */
  PLACE_GUARD_END,  /* behind the last element that may be touched: no access */
  PLACE_GUARD_BEGIN /* before the first element that may be touched: no access */
};

struct problem_data_options {
  enum problem_placement placement;
  unsigned char output_fill; /* what outputs hold at first */
  int special; /* some bias entries and sinks -inf, some bias entries the lowest number */
};

struct memory_block {
  unsigned char *begin; /* accessible bytes */
  size_t bytes;
  unsigned char *origin; /* element 0, 0, 0, 0 (need not be accessible) */
  unsigned char *copy;   /* problem_data_snapshot() */
  void *owned;
  struct guard_block guard;
};

struct problem_data {
  sdpa_problem problem;
  sdpa_args args;
  int backward;     /* of the spec: the call to be tested is sdpa_backward() */
  sdpa_grads grads; /* then everything that the problem has; a test may ask for less */
  struct memory_block block[PROBLEM_BLOCKS];
};

/* Allocates and fills everything. Returns 0, or -1 and a sentence in `message`; *data then needs no
 * free. options NULL: all 0. */
int problem_data_make(struct problem_data *data, const struct problem_spec *spec,
                      const struct problem_data_options *options, char *message,
                      size_t message_bytes);
void problem_data_free(struct problem_data *data);

/* The arguments for sdpa_backward(): those of the forward pass without its outputs. */
sdpa_args problem_data_backward_args(const struct problem_data *data);

/* 1 if the call to be tested writes the block. */
int problem_data_is_written(const struct problem_data *data, int block);

/* Address of an element; it may be one that is never read. */
void *problem_data_at(const struct problem_data *data, enum problem_tensor tensor, int64_t batch,
                      int64_t head, int64_t row, int64_t col);

/* 1 if rule 11 lets the library read the element: its key and its row are within the lengths. */
int problem_data_is_read(const struct problem_data *data, enum problem_tensor tensor, int64_t batch,
                         int64_t row, int64_t col);

/* Elements as numbers. 0xFF bytes of an unread position are NaN. A number that the type does not
 * have is stored as the nearest that it has (narrow_float.h). */
double problem_load(uint32_t type, const void *element);
void problem_store(uint32_t type, void *element, double value);

/* Keeps a copy of every block, and of nothing else. Returns 0, or -1 without memory. */
int problem_data_snapshot(struct problem_data *data);

/* Makes all blocks, or the outputs alone, what they were at the snapshot. */
void problem_data_restore(struct problem_data *data, int outputs_only);

/* Compares with the snapshot: 0 if no input has changed, and of the outputs only elements (with
 * `outputs_too`: not even those). Else -1 and a sentence. */
int problem_data_untouched(const struct problem_data *data, int outputs_too, char *message,
                           size_t message_bytes);

#endif

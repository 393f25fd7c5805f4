/* dtype.h - the table of data types
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SDPAI_DTYPE_H
#define SDPAI_DTYPE_H

#include <stddef.h>
#include <stdint.h>

struct sdpai_dtype {
  uint32_t id;      /* SDPA_F64 ... */
  uint32_t compute; /* type of scores, softmax, sums, log-sum-exp: SDPA_F64 or SDPA_F32 */
  size_t bytes;     /* of one element */
  int offered;      /* this version has kernels for it */
  const char *name; /* as in problem strings and messages */
};

/* The row of a type, NULL for a value that names none. */
const struct sdpai_dtype *sdpai_dtype(uint32_t id);

/* `value` rounded to the compute type, as a double: what the arithmetic will see of a scalar. */
double sdpai_dtype_round(uint32_t compute, double value);

#endif

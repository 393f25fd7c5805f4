/* dtype.h - the table of data types
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SDPAI_DTYPE_H
#define SDPAI_DTYPE_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <sdpa/sdpa.h>

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

/* The types of a problem's tensors. */
struct sdpai_types {
  uint32_t query, key, value, output, bias; /* SDPA_F64 ... */
  uint32_t compute; /* of scores, weights, lse, slopes, sinks: the query's compute type */
};

/* What the elements of a tensor are, as an index. */
enum sdpai_element {
  SDPAI_ELEMENT_QUERY,
  SDPAI_ELEMENT_KEY,
  SDPAI_ELEMENT_VALUE,
  SDPAI_ELEMENT_OUTPUT,
  SDPAI_ELEMENT_BIAS,
  SDPAI_ELEMENT_COMPUTE,
  SDPAI_ELEMENT_BYTE,
  SDPAI_ELEMENT_INT64,
  SDPAI_ELEMENTS
};

/* Bytes of an element by that index. */
void sdpai_types_bytes(const struct sdpai_types *types, uint8_t bytes[SDPAI_ELEMENTS]);

/* Bytes of an element of `type`, which is one of the table. */
static inline int64_t sdpai_element(uint32_t type) {
  return type == SDPA_F64 ? 8 : type == SDPA_F32 ? 4 : 2;
}

/* What a pointer to elements of so many bytes is a multiple of: what C asks of their type, which is
 * less than 8 for those of 8 bytes where an ABI aligns them to 4 (32-bit x86). */
static inline size_t sdpai_element_alignment(size_t bytes) {
  return bytes < _Alignof(double) ? bytes : _Alignof(double);
}
static inline int sdpai_is_aligned(const void *pointer, size_t bytes) {
  return ((uintptr_t)pointer & (sdpai_element_alignment(bytes) - 1)) == 0;
}

/* The address `elements` elements on in a tensor of `type`, NULL staying NULL: tensors without
 * elements may be NULL. */
static inline const void *sdpai_at(uint32_t type, const void *pointer, int64_t elements) {
  return pointer ? (const char *)pointer + elements * sdpai_element(type) : NULL;
}
static inline void *sdpai_out_at(uint32_t type, void *pointer, int64_t elements) {
  return pointer ? (char *)pointer + elements * sdpai_element(type) : NULL;
}

/* Sets n elements, `stride` apart, to +0, whose bits are 0 in every type. */
static inline void sdpai_clear_row(uint32_t type, int64_t n, void *to, int64_t stride) {
  const size_t element = (size_t)sdpai_element(type);
  if (stride == 1) {
    if (n > 0) memset(to, 0, (size_t)n * element);
  } else {
    for (int64_t t = 0; t < n; t++) memset(sdpai_out_at(type, to, t * stride), 0, element);
  }
}

#endif

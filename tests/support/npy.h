/* npy.h - reads arrays that NumPy wrote with numpy.save
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Format versions 1.0, 2.0 and 3.0 (numpy.lib.format), C order, little-endian numbers of six types,
 * up to 8 dimensions. Every size in the file is checked against the bytes that are there before it
 * is used, so a damaged file gives a sentence and never a wrong array. A file must end where its
 * array ends. Thread-safe.
 */
#ifndef NPY_H
#define NPY_H

#include <stddef.h>
#include <stdint.h>

enum { NPY_MAX_RANK = 8 };

enum npy_type {
  NPY_F64 = 1, /* <f8, double */
  NPY_F32,     /* <f4, float */
  NPY_F16,     /* <f2, IEEE binary16 as its bits in uint16_t */
  NPY_I64,     /* <i8, int64_t */
  NPY_BOOL,    /* |b1, uint8_t, 0 or 1 */
  NPY_U8       /* |u1, uint8_t */
};

/* The data are contiguous in C order, in the byte order of this machine, aligned for their type.
 * rank 0 is a scalar: count is 1. Dimensions beyond the rank are 0. data is never NULL after a
 * successful read, also where count is 0. */
struct npy_array {
  enum npy_type type;
  int32_t rank;
  int64_t shape[NPY_MAX_RANK];
  int64_t count; /* product of the shape */
  void *data;    /* owned: npy_free() */
};

/* Read a file, or the bytes of one. 0 on success. Otherwise -1, *array is all zero (npy_free is
 * harmless) and text holds a sentence; it is always terminated and may be NULL with text_bytes 0.
 */
int npy_read(const char *path, struct npy_array *array, char *text, size_t text_bytes);
int npy_parse(const void *bytes, size_t size, struct npy_array *array, char *text,
              size_t text_bytes);

/* Frees the data and zeroes the struct. */
void npy_free(struct npy_array *array);

/* Bytes of one element, and the name as in the file ("<f8"). */
size_t npy_type_size(enum npy_type type);
const char *npy_type_name(enum npy_type type);

#endif

/* numpy_random.h - the random stream of NumPy's default_rng(seed), bit for bit
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * SeedSequence, PCG64 (128-bit state, XSL-RR output) and the 256-layer ziggurat, so that figures
 * and test data made with NumPy can be made again in C. Each function below names the NumPy call
 * whose values it gives; checked against NumPy 1.24.2 and 2.0.2. No global state: a generator may
 * be copied by assignment (the copy continues the same stream) and is used by one thread at a time.
 *
 * The normals call exp and log1p of libm in about 1 draw of 67; there a value could differ from
 * NumPy's where two libms differ in the last place exactly at a decision or in the far tail.
 */
#ifndef NUMPY_RANDOM_H
#define NUMPY_RANDOM_H

#include <stddef.h>
#include <stdint.h>

struct numpy_rng {
  uint64_t state_high, state_low;         /* the 128-bit state of PCG64 */
  uint64_t increment_high, increment_low; /* its stream constant, odd */
  uint32_t half;                          /* upper half of a word whose lower half was used */
  int has_half;
};

/* numpy.random.default_rng(seed), for 0 <= seed < 2^64. */
void numpy_rng_seed(struct numpy_rng *rng, uint64_t seed);

/* rng.bit_generator.random_raw(): the next 64 bits. */
uint64_t numpy_rng_u64(struct numpy_rng *rng);

/* rng.random(): uniform in [0, 1), a multiple of 2^-53. */
double numpy_rng_double(struct numpy_rng *rng);

/* rng.integers(n): uniform in 0 .. n - 1, unbiased. As in NumPy, n up to 2^32 draws halves of words
 * (lower half first, the upper one kept for the next such call), n = 1 draws nothing, and so does
 * n = 0, which NumPy rejects: the result is 0. */
uint64_t numpy_rng_below(struct numpy_rng *rng, uint64_t n);

/* rng.normal() and rng.standard_normal(): mean 0, variance 1. */
double numpy_rng_normal(struct numpy_rng *rng);

/* rng.normal(size=n). The float form is that array rounded to float32 (.astype(numpy.float32)), not
 * NumPy's standard_normal(dtype=numpy.float32), which is another stream. */
void numpy_rng_fill_normal(struct numpy_rng *rng, double *values, size_t n);
void numpy_rng_fill_normal_f32(struct numpy_rng *rng, float *values, size_t n);

#endif

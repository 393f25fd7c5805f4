/* philox.h - Philox4x32-10, a counter-based random generator
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Salmon, Moraes, Dror, Shaw: "Parallel Random Numbers: As Easy as 1, 2, 3", SC 2011, section 3.3:
 * ten rounds of a 4 x 32-bit Feistel-like network that multiplies. The constants are theirs.
 */
#ifndef SDPAI_PHILOX_H
#define SDPAI_PHILOX_H

#include <stdint.h>

#include "runtime/compiler.h"

enum { SDPAI_PHILOX_ROUNDS = 10 };
#define SDPAI_PHILOX_M0 UINT32_C(0xD2511F53)
#define SDPAI_PHILOX_M1 UINT32_C(0xCD9E8D57)
#define SDPAI_PHILOX_W0 UINT32_C(0x9E3779B9) /* 2^32 / the golden ratio */
#define SDPAI_PHILOX_W1 UINT32_C(0xBB67AE85) /* 2^32 * (sqrt 3 - 1) */

/* One round on the words of a counter, under that round's key. */
SDPAI_INLINE void sdpai_philox_round(uint32_t *x0, uint32_t *x1, uint32_t *x2, uint32_t *x3,
                                     uint32_t k0, uint32_t k1) {
  const uint64_t product0 = (uint64_t)SDPAI_PHILOX_M0 * *x0;
  const uint64_t product1 = (uint64_t)SDPAI_PHILOX_M1 * *x2;
  *x0 = (uint32_t)(product1 >> 32) ^ *x1 ^ k0;
  *x1 = (uint32_t)product1;
  *x2 = (uint32_t)(product0 >> 32) ^ *x3 ^ k1;
  *x3 = (uint32_t)product0;
}

/* The four words of counter x under the key (k0, k1), in place. */
SDPAI_INLINE void sdpai_philox(uint32_t x[4], uint32_t k0, uint32_t k1) {
  for (int round = 0; round < SDPAI_PHILOX_ROUNDS; round++) {
    sdpai_philox_round(&x[0], &x[1], &x[2], &x[3], k0, k1);
    k0 += SDPAI_PHILOX_W0;
    k1 += SDPAI_PHILOX_W1;
  }
}

#endif

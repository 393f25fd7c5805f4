/* emulated_machine.c - a machine with AMX, made of one with AVX-512
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Stands for cpu_features.c and tile_permission.c. SDPA_TEST_REFUSE_TILES in the environment makes
 * the system refuse its permission.
 */
#include <stdlib.h>

/* The real detection under another name, since this file defines the real one's. */
#define sdpai_cpu_detect detect_real_cpu
#include "runtime/cpu_features.c"
#undef sdpai_cpu_detect

#include "runtime/tile_permission.h"

uint32_t sdpai_cpu_detect(void);

uint32_t sdpai_cpu_detect(void) {
  const uint32_t features = detect_real_cpu();
  return features & SDPAI_CPU_AVX512 ? features | SDPAI_CPU_AMX : features;
}

int sdpai_tiles_permitted(void) {
  return getenv("SDPA_TEST_REFUSE_TILES") == NULL;
}

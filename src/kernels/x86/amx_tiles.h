/* amx_tiles.h - the tile operations, by the instructions of AMX-TILE and AMX-BF16
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The vocabulary of amx_pack_tpl.h and amx_products_tpl.h. Tiles are numbered 0 to 7, by literals:
 * the number is part of the instruction. Assembly and not the compiler's intrinsics: those of gcc
 * 12 tell the compiler neither that a load reads its tile nor that LDTILECFG reads all 64 bytes.
 *
 *   TILES_CONFIGURE()        all eight tiles: 16 rows of 64 bytes
 *   TILES_RELEASE()          the initial state: the system need not save tiles any more
 *   TILE_ZERO(t)
 *   TILE_LOAD(t, at, bytes)  row r from at + r * bytes
 *   TILE_STORE(t, at, bytes)
 *   TILE_DP(c, a, b)         c += a b, a [16][32] bf16, b [16 pairs][16][2] bf16, c [16][16] f32
 */
#ifndef SDPAI_AMX_TILES_H
#define SDPAI_AMX_TILES_H

#include <stdint.h>

#include "runtime/compiler.h"

/* Operand of LDTILECFG (Intel 64 and IA-32 Architectures Software Developer's Manual, volume 1,
 * chapter 18, palette 1). */
struct tile_config {
  uint8_t palette, start_row, reserved[14];
  uint16_t row_bytes[16];
  uint8_t rows[16];
};

SDPAI_INLINE void tiles_configure(void) {
  struct tile_config config = {.palette = 1};
  for (int t = 0; t < 8; t++) {
    config.row_bytes[t] = 64;
    config.rows[t] = 16;
  }
  __asm__ volatile("ldtilecfg %0" : : "m"(config));
}

#define TILES_CONFIGURE() tiles_configure()
#define TILES_RELEASE()   __asm__ volatile("tilerelease" : : : "memory")
#define TILE_ZERO(t)      __asm__ volatile("tilezero %%tmm" #t : :)
#define TILE_LOAD(t, at, bytes)                                                                    \
  __asm__ volatile("tileloadd (%0,%1,1), %%tmm" #t : : "r"(at), "r"((int64_t)(bytes)) : "memory")
#define TILE_STORE(t, at, bytes)                                                                   \
  __asm__ volatile("tilestored %%tmm" #t ", (%0,%1,1)"                                             \
                   :                                                                               \
                   : "r"(at), "r"((int64_t)(bytes))                                                \
                   : "memory")
#define TILE_DP(c, a, b) __asm__ volatile("tdpbf16ps %%tmm" #b ", %%tmm" #a ", %%tmm" #c : :)

#endif

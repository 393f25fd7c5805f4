/* emulated_tiles.h - the tile operations of amx_tiles.h, computed by a program
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The same vocabulary, by the operation sections of Intel's manual (volume 2, TDPBF16PS and the TILE
 * instructions) and not by what a CPU was seen to do. As on a CPU an operation without a
 * configuration does not return: the process ends by abort().
 */
#ifndef EMULATED_TILES_H
#define EMULATED_TILES_H

#include <stdint.h>

void emulated_configure(void);
void emulated_release(void);
void emulated_zero(int t);
void emulated_load(int t, const void *at, int64_t bytes);
void emulated_store(int t, void *at, int64_t bytes);
void emulated_dp(int c, int a, int b);

/* Threads that have configured their tiles and not released them, and multiplications so far, of
 * all threads. */
int emulated_configured(void);
long emulated_multiplications(void);

#define TILES_CONFIGURE()        emulated_configure()
#define TILES_RELEASE()          emulated_release()
#define TILE_ZERO(t)             emulated_zero(t)
#define TILE_LOAD(t, at, bytes)  emulated_load(t, at, bytes)
#define TILE_STORE(t, at, bytes) emulated_store(t, at, bytes)
#define TILE_DP(c, a, b)         emulated_dp(c, a, b)

#endif

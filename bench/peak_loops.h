/* peak_loops.h - what a core can do at best: arithmetic, exponentials, reading, a register kernel
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The ceilings that a measurement is held against. One table an ISA, filled by a translation unit
 * with compile flags of its own from peak_loops_tpl.h; peak_table.c chooses. The loops do real work
 * whose result the tests check, so that none of it can be optimised away unnoticed.
 */
#ifndef PEAK_LOOPS_H
#define PEAK_LOOPS_H

#include <stdint.h>

/* Multiply-adds on whole vectors, for each round of the fma loops. 12 chains, since two units with
 * a latency of 4 or 5 cycles need 8 or 10, and 12 fit into 16 registers; four of each a round, so
 * that the loop's own instructions vanish. */
enum { PEAK_CHAINS = 12, PEAK_CHAIN_STEPS = 4 };

/* Reads are in whole lines, from a line's start. */
enum { PEAK_LINE = 64 };

/* The inner loop of a matrix product in registers: C[rows][columns] = sum over k < depth of
 * a[k][rows] b[k][columns], all three contiguous, of the table's element type. Each element of `a`
 * is broadcast, each row of `b` is loaded once: what a tiled engine does with everything in L1. */
struct register_kernel {
  const char *name; /* rows x vectors: "8x3"; NULL ends a list */
  int rows, columns;
  void (*run)(int64_t depth, const void *a, const void *b, void *c);
};

enum { PEAK_KERNELS = 4 }; /* room of a list, its end included */

struct peak_loops {
  uint32_t isa; /* SDPA_ISA_... */
  const char *name;
  int f32_lanes, f64_lanes;

  /* PEAK_CHAINS x PEAK_CHAIN_STEPS vector multiply-adds a round, independent but for the chains.
   * Each takes every lane of a chain from x to x / 2 + 1, beginning at 0; returns the sum over all
   * lanes and chains. Without FMA in the ISA a multiplication and an addition. */
  double (*fma_f32)(int64_t rounds);
  double (*fma_f64)(int64_t rounds);

  /* y[i] = exp(x[i]) for -87 < x[i] < 88, n a multiple of the lanes; x and y aligned to a line. The
   * shortest way to 23 bits: degree 5, one multiplication as reduction. Relative error at most
   * 3e-7 + 1e-7 |x|: less than what a library promises, as a ceiling may. */
  void (*exp_f32)(const float *x, float *y, int64_t n);

  /* Sum modulo 2^64 of the 64-bit words of `bytes` bytes. Two ways, of which the faster counts:
   * as the hardware prefetches, and with prefetches 8 KiB ahead. */
  uint64_t (*read_plain)(const void *data, int64_t bytes);
  uint64_t (*read_ahead)(const void *data, int64_t bytes);

  /* Shapes that may be the best, in the registers of the ISA. */
  struct register_kernel kernel_f32[PEAK_KERNELS], kernel_f64[PEAK_KERNELS];
};

/* A loop over tiles of bf16: in each round four products of 16 x 32 by 32 x 16 numbers, two tiles of
 * `a` with two of `b` (16 rows of 64 bytes a tile, aligned to a line; those of b in pairs of rows),
 * added up in f32. Returns the sum over all four tiles of sums. */
typedef double (*peak_tiles)(int64_t rounds, const void *a, const void *b);
enum { PEAK_TILE_FLOPS = 4 * 2 * 16 * 16 * 32, PEAK_TILE_BYTES = 2 * 1024 };

/* The loop for the ISA that a plan of the library chose; NULL: it has no unit for tiles. */
peak_tiles peak_tiles_for(uint32_t isa);

/* The loops for the ISA that a plan of the library chose; amx counts as avx512. */
const struct peak_loops *peak_loops_for(uint32_t isa);

/* The tables of this build, best last: NULL from their number on. Ask before a table is used
 * whether the machine has the ISA. */
const struct peak_loops *peak_loops_at(int i);

/* `adds` dependent additions of integers, one cycle each: seconds / adds is the length of a cycle
 * at the clock that the core runs at. Returns the sum, which is `adds`. */
uint64_t peak_dependent_adds(uint64_t adds);

#endif

/* emulated_tiles.c - the tile operations of amx_tiles.h, computed by a program
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The unit's arithmetic is IEEE's to nearest even with subnormal operands taken for zero and
 * subnormal results flushed to zero, whatever the thread's environment says: the CPU's own two modes
 * of these names, switched on around the multiplication.
 */
#include "emulated_tiles.h"

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <xmmintrin.h>

enum { TILES = 8, ROWS = 16, ROW_BYTES = 64, PAIRS = 16, COLUMNS = 16 };
enum { MXCSR_DEFAULT = 0x1f80, MXCSR_DAZ = 0x40, MXCSR_FTZ = 0x8000 };

typedef unsigned char tile[ROWS][ROW_BYTES];

static _Thread_local tile tiles[TILES];
static _Thread_local int configured;
static atomic_int threads_configured;
static atomic_long multiplications;

static void need_configuration(void) {
  if (!configured) abort();
}

void emulated_configure(void) {
  if (!configured) atomic_fetch_add(&threads_configured, 1);
  configured = 1;
  memset(tiles, 0, sizeof tiles);
}

void emulated_release(void) {
  if (configured) atomic_fetch_sub(&threads_configured, 1);
  configured = 0;
}

int emulated_configured(void) {
  return atomic_load(&threads_configured);
}

long emulated_multiplications(void) {
  return atomic_load(&multiplications);
}

void emulated_zero(int t) {
  need_configuration();
  memset(tiles[t], 0, sizeof tiles[t]);
}

void emulated_load(int t, const void *at, int64_t bytes) {
  need_configuration();
  for (int r = 0; r < ROWS; r++) memcpy(tiles[t][r], (const char *)at + r * bytes, ROW_BYTES);
}

void emulated_store(int t, void *at, int64_t bytes) {
  need_configuration();
  for (int r = 0; r < ROWS; r++) memcpy((char *)at + r * bytes, tiles[t][r], ROW_BYTES);
}

/* A pair of bf16 in a word, as floats: the first one in the lower half. */
static float first_of(uint32_t pair) {
  float x;
  pair <<= 16;
  memcpy(&x, &pair, sizeof x);
  return x;
}
static float second_of(uint32_t pair) {
  float x;
  pair &= UINT32_C(0xffff0000);
  memcpy(&x, &pair, sizeof x);
  return x;
}

/* Apart, so that the compiler moves no arithmetic out from between the changes of mode. The first
 * numbers of all pairs are summed up, and the second ones; then both sums are added, and the result
 * is added to c. */
static __attribute__((noinline)) void multiply(tile c, const tile a, const tile b) {
  for (int m = 0; m < ROWS; m++) {
    float even[COLUMNS] = {0}, odd[COLUMNS] = {0}, sums[COLUMNS];
    uint32_t left[PAIRS], right[COLUMNS];
    memcpy(left, a[m], sizeof left);
    for (int k = 0; k < PAIRS; k++) {
      const float x = first_of(left[k]), y = second_of(left[k]);
      memcpy(right, b[k], sizeof right);
      for (int n = 0; n < COLUMNS; n++) {
        even[n] = fmaf(x, first_of(right[n]), even[n]);
        odd[n] = fmaf(y, second_of(right[n]), odd[n]);
      }
    }
    memcpy(sums, c[m], sizeof sums);
    for (int n = 0; n < COLUMNS; n++) sums[n] += even[n] + odd[n];
    memcpy(c[m], sums, sizeof sums);
  }
}

void emulated_dp(int c, int a, int b) {
  need_configuration();
  atomic_fetch_add_explicit(&multiplications, 1, memory_order_relaxed);
  const unsigned saved = _mm_getcsr();
  _mm_setcsr(MXCSR_DEFAULT | MXCSR_DAZ | MXCSR_FTZ);
  multiply(tiles[c], (const unsigned char(*)[ROW_BYTES])tiles[a],
           (const unsigned char(*)[ROW_BYTES])tiles[b]);
  _mm_setcsr(saved);
}

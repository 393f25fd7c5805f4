/* peak_table.c - which of the ceilings' loops stand for an ISA
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <stddef.h>

#include <sdpa/sdpa.h>

#include "peak_tables.h"

static const struct peak_loops *const tables[] = {
    &peak_loops_generic,
#ifdef SDPA_BENCH_X86
    &peak_loops_avx2,
    &peak_loops_avx512,
#endif
};
enum { TABLES = sizeof tables / sizeof *tables };

const struct peak_loops *peak_loops_at(int i) {
  return i < TABLES ? tables[i] : NULL;
}

/* ISAs of another architecture have numbers of their own hundred and get the generic loops. */
const struct peak_loops *peak_loops_for(uint32_t isa) {
  const struct peak_loops *best = tables[0];
  for (int i = 1; i < TABLES; i++) {
    if (tables[i]->isa / 100 == isa / 100 && tables[i]->isa <= isa) best = tables[i];
  }
  return best;
}

peak_tiles peak_tiles_for(uint32_t isa) {
#ifdef SDPA_BENCH_X86
  if (isa == SDPA_ISA_AMX) return peak_tiles_amx;
#endif
  (void)isa;
  return NULL;
}

/* A register is added, not a constant: some cores do additions of constants at no cost while they
 * rename registers. */
uint64_t peak_dependent_adds(uint64_t adds) {
  uint64_t sum = 0, one = 1;
  __asm__("" : "+r"(one));
  for (uint64_t i = 0; i + 16 <= adds; i += 16) {
    for (int j = 0; j < 16; j++) {
      sum += one;
      __asm__("" : "+r"(sum));
    }
  }
  for (uint64_t i = adds / 16 * 16; i < adds; i++) sum += one;
  return sum;
}

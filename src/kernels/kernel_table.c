/* kernel_table.c - which kernels run: the one place where an ISA is chosen
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The tables are constants. What the CPU can run and what the environment allows is asked once, at
 * the first call, and never changes afterwards.
 */
#define _GNU_SOURCE /* secure_getenv */
#include "kernels/kernels.h"

#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/kernel_decls.h"
#include "runtime/cpu_features.h"
#include "runtime/tile_permission.h"
#include "sdpa/sdpa.h"

/* Worst first. */
enum {
  TABLE_generic,
#ifdef SDPAI_ARCH_X86
  TABLE_avx2,
  TABLE_avx512,
  TABLE_amx,
#endif
#ifdef SDPAI_ARCH_ARM64
  TABLE_neon,
#endif
  TABLES
};

/* One line of kernel_list.def fills its own ISA's cell and those of the better ISAs that build on
 * it; a later line of a better ISA overrides. */
#define CELL(isa, table, type, op) [TABLE_##table].type.op = SDPAI_KERNEL_NAME(type, op, isa),
#ifdef SDPAI_ARCH_X86
#define FILL_avx512(type, op) CELL(avx512, avx512, type, op) CELL(avx512, amx, type, op)
#define FILL_avx2(type, op)                                                                        \
  CELL(avx2, avx2, type, op) CELL(avx2, avx512, type, op) CELL(avx2, amx, type, op)
#define FILL_BETTER(type, op)                                                                      \
  CELL(generic, avx2, type, op) CELL(generic, avx512, type, op) CELL(generic, amx, type, op)
#elif defined(SDPAI_ARCH_ARM64)
#define FILL_neon(type, op)   CELL(neon, neon, type, op)
#define FILL_BETTER(type, op) CELL(generic, neon, type, op)
#else
#define FILL_BETTER(type, op)
#endif
#define FILL_generic(type, op)       CELL(generic, generic, type, op) FILL_BETTER(type, op)
#define SDPAI_KERNEL(isa, type, op)  FILL_##isa(type, op)
#define SDPAI_MATRIX_KERNEL(isa, op) CELL(isa, isa, matrix, op)

/* Overriding is the intention here. */
#if defined(__GNUC__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Woverride-init"
#endif
static const struct sdpai_kernels tables[TABLES] = {
#include "kernels/kernel_list.def"
    [TABLE_generic].isa = SDPA_ISA_GENERIC,
    [TABLE_generic].name = "generic",
    [TABLE_generic].f32.lanes = 1,
    [TABLE_generic].f64.lanes = 1,
#ifdef SDPAI_ARCH_X86
    [TABLE_avx2].isa = SDPA_ISA_AVX2,
    [TABLE_avx2].name = "avx2",
    [TABLE_avx2].f32.lanes = 8,
    [TABLE_avx2].f64.lanes = 4,
    [TABLE_avx512].isa = SDPA_ISA_AVX512,
    [TABLE_avx512].name = "avx512",
    [TABLE_avx512].f32.lanes = 16,
    [TABLE_avx512].f64.lanes = 8,
    [TABLE_amx].isa = SDPA_ISA_AMX,
    [TABLE_amx].name = "amx",
    [TABLE_amx].f32.lanes = 16,
    [TABLE_amx].f64.lanes = 8,
#endif
#ifdef SDPAI_ARCH_ARM64
    [TABLE_neon].isa = SDPA_ISA_NEON,
    [TABLE_neon].name = "neon",
    [TABLE_neon].f32.lanes = 4,
    [TABLE_neon].f64.lanes = 2,
#endif
};
#if defined(__GNUC__)
#pragma GCC diagnostic pop
#endif

/* What SDPA_MAX_ISA may say on this architecture. */
static const struct {
  const char *name;
  uint32_t isa;
} ceilings[] = {
    {"generic", SDPA_ISA_GENERIC},
#ifdef SDPAI_ARCH_X86
    {"avx2", SDPA_ISA_AVX2},       {"avx512", SDPA_ISA_AVX512}, {"amx", SDPA_ISA_AMX},
#endif
#ifdef SDPAI_ARCH_ARM64
    {"neon", SDPA_ISA_NEON},
#endif
};

static struct {
  int available;         /* tables[0 .. available - 1] run here */
  int worthwhile;        /* of them, those that are worth it unless somebody insists */
  uint32_t environment;  /* ceiling of SDPA_MAX_ISA; SDPA_ISA_AUTO: none */
  int ignored;           /* SDPA_MAX_ISA is set and understood by nobody */
  char ignored_text[64]; /* its beginning: the environment's own text may go away */
} machine;
static pthread_once_t machine_once = PTHREAD_ONCE_INIT;

/* secure_getenv: a set-user-ID program does not let its caller choose the code it runs. */
static void read_environment(void) {
  const char *text = secure_getenv("SDPA_MAX_ISA");
  machine.environment = SDPA_ISA_AUTO;
  if (!text || !*text) return;
  for (size_t i = 0; i < sizeof ceilings / sizeof *ceilings; i++)
    if (strcmp(text, ceilings[i].name) == 0) machine.environment = ceilings[i].isa;
  if (machine.environment == SDPA_ISA_AUTO) {
    machine.ignored = 1;
    strncpy(machine.ignored_text, text, sizeof machine.ignored_text - 1);
  }
}

static void read_machine(void) {
  machine.available = machine.worthwhile = 1;
#ifdef SDPAI_ARCH_X86
  uint32_t cpu = sdpai_cpu_detect();
  if (cpu & SDPAI_CPU_AVX2) machine.available = machine.worthwhile = TABLE_avx2 + 1;
  if (cpu & SDPAI_CPU_AVX512) machine.available = TABLE_avx512 + 1;
  if (cpu & SDPAI_CPU_AMX) machine.available = TABLE_amx + 1;
  if (cpu & SDPAI_CPU_512_BITS_WORTH_IT) machine.worthwhile = machine.available;
#endif
#ifdef SDPAI_ARCH_ARM64
  machine.available = machine.worthwhile = TABLE_neon + 1; /* part of the architecture */
#endif
  read_environment();
}

/* The number of tables at or below `ceiling`, which names an ISA. ISAs of another architecture have
 * numbers of their own hundred and leave the generic table. */
static int tables_within(uint32_t ceiling) {
#ifdef SDPAI_ARCH_X86
  if (ceiling / 100 != SDPA_ISA_AMX / 100) return 1;
#endif
  int count = 1;
  while (count < TABLES && tables[count].isa <= ceiling) count++;
  return count;
}

/* A ceiling that names 512-bit vectors asks for them; a lower one and none do not. */
static int insists_on_512_bits(uint32_t ceiling) {
  return ceiling >= SDPA_ISA_AVX512 && ceiling / 100 == SDPA_ISA_AVX512 / 100;
}

const struct sdpai_kernels *sdpai_kernels_select(uint32_t ceiling) {
  pthread_once(&machine_once, read_machine);
  int insisted = insists_on_512_bits(ceiling) || insists_on_512_bits(machine.environment);
  int count = insisted ? machine.available : machine.worthwhile;
  const uint32_t limits[] = {ceiling, machine.environment};
  for (int i = 0; i < 2; i++) {
    if (limits[i] == SDPA_ISA_AUTO) continue;
    int within = tables_within(limits[i]);
    if (within < count) count = within;
  }
#ifdef SDPAI_ARCH_X86
  if (count == TABLE_amx + 1 && !sdpai_tiles_permitted()) count--;
#endif
  return &tables[count - 1];
}

const struct sdpai_kernels *sdpai_kernels_available(int i) {
  pthread_once(&machine_once, read_machine);
  return i >= 0 && i < machine.available ? &tables[i] : NULL;
}

const char *sdpai_kernels_ignored_ceiling(void) {
  pthread_once(&machine_once, read_machine);
  return machine.ignored ? machine.ignored_text : NULL;
}

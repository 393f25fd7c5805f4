/* bench_names.c - the tables of names
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "bench_names.h"

#include <stddef.h>
#include <string.h>

#include <sdpa/sdpa.h>

const struct bench_name bench_engines[] = {{"auto", SDPA_ENGINE_AUTO},
                                           {"blas", SDPA_ENGINE_BLAS},
                                           {"tiled", SDPA_ENGINE_TILED},
                                           {NULL, 0}};
const struct bench_name bench_isas[] = {{"auto", SDPA_ISA_AUTO},
                                        {"generic", SDPA_ISA_GENERIC},
                                        {"avx2", SDPA_ISA_AVX2},
                                        {"avx512", SDPA_ISA_AVX512},
                                        {"amx", SDPA_ISA_AMX},
                                        {"neon", SDPA_ISA_NEON},
                                        {NULL, 0}};
const struct bench_name bench_precisions[] = {{"full", SDPA_PRECISION_FULL},
                                              {"fma", SDPA_PRECISION_FMA},
                                              {"reduced", SDPA_PRECISION_REDUCED},
                                              {NULL, 0}};

const char *bench_name_of(const struct bench_name *names, uint32_t value) {
  for (; names->name; names++) {
    if (names->value == value) return names->name;
  }
  return "unknown";
}

int bench_value_of(const struct bench_name *names, const char *name, uint32_t *value) {
  for (; names->name; names++) {
    if (strcmp(names->name, name) != 0) continue;
    *value = names->value;
    return 0;
  }
  return -1;
}

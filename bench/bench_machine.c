/* bench_machine.c - names the CPU, the build, the library and the BLAS
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#define _POSIX_C_SOURCE 200809L

#include "bench_machine.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sdpa/sdpa.h>

#include "plain_products.h"

/* The CPU's name as /proc/cpuinfo has it, "unknown" where there is none. */
static void read_cpu_name(char *name, size_t name_bytes) {
  char line[512];
  snprintf(name, name_bytes, "unknown");
  FILE *file = fopen("/proc/cpuinfo", "r");
  while (file && fgets(line, sizeof line, file)) {
    const char *colon = strchr(line, ':');
    if (strncmp(line, "model name", 10) == 0 && colon) {
      line[strcspn(line, "\n")] = '\0';
      snprintf(name, name_bytes, "%s", colon + 1 + strspn(colon + 1, " "));
      break;
    }
  }
  if (file) fclose(file);
}

static const char *isa_name(uint32_t isa) {
  switch (isa) {
  case SDPA_ISA_GENERIC:
    return "generic";
  case SDPA_ISA_AVX2:
    return "avx2";
  case SDPA_ISA_AVX512:
    return "avx512";
  case SDPA_ISA_AMX:
    return "amx";
  case SDPA_ISA_NEON:
    return "neon";
  default:
    return "unknown";
  }
}

static const char *engine_name(uint32_t engine) {
  switch (engine) {
  case SDPA_ENGINE_BLAS:
    return "blas";
  case SDPA_ENGINE_TILED:
    return "tiled";
  default:
    return "unknown";
  }
}

/* Engine and ISA of a default plan for the largest problem that the bench times. */
static void print_choice(FILE *stream) {
  sdpa_problem problem;
  sdpa_plan *plan = NULL;
  sdpa_plan_info info = {.size = sizeof info};
  sdpa_problem_init(&problem, sizeof problem);
  problem.query_type = SDPA_F32;
  problem.batch = problem.query_heads = problem.kv_heads = 1;
  problem.query_len = problem.key_len = 4096;
  problem.key_dim = problem.value_dim = 64;
  sdpa_problem_layout(&problem, SDPA_LAYOUT_BHSD);
  sdpa_status status = sdpa_plan_create(&problem, NULL, &plan);
  if (status == SDPA_OK) status = sdpa_plan_query(plan, &info);
  if (status == SDPA_OK) {
    fprintf(stream, "chosen:       engine %s, ISA %s\n", engine_name(info.engine),
            isa_name(info.isa));
  } else {
    fprintf(stream, "chosen:       %s\n", sdpa_status_string(status));
  }
  sdpa_plan_destroy(plan);
}

static void print_build_info(FILE *stream) {
  const size_t bytes = sdpa_build_info(NULL, 0) + 1;
  char *text = malloc(bytes);
  if (!text) return;
  sdpa_build_info(text, bytes);
  char *rest = NULL;
  for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
    fprintf(stream, "build info:   %s\n", line);
  }
  free(text);
}

void bench_machine_print(FILE *stream) {
  char cpu[256];
  read_cpu_name(cpu, sizeof cpu);
  fprintf(stream, "CPU:          %s, %ld online\n", cpu, sysconf(_SC_NPROCESSORS_ONLN));
  fprintf(stream, "library:      libsdpa %s, %s build\n", sdpa_version_string(),
          SDPA_BENCH_BUILD_TYPE);
  fprintf(stream, "compiler:     %s\n", SDPA_BENCH_COMPILER);
  print_build_info(stream);
  print_choice(stream);

  const char *asked = getenv("OPENBLAS_NUM_THREADS");
  const int threads = plain_products_threads();
  if (threads > 0) {
    fprintf(stream, "BLAS threads: %d (OPENBLAS_NUM_THREADS %s%s)\n", threads,
            asked ? "= " : "is not set", asked ? asked : "");
  } else {
    fprintf(stream, "BLAS threads: this BLAS does not tell\n");
  }
}

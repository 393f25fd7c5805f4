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

#include "bench_names.h"
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

/* A plan that any engine makes. 0, or the library's refusal as a sentence. */
static int choose(const struct bench_choice *choice, struct sdpa_plan_info *info, char *message,
                  size_t message_bytes) {
  struct bench_case *c = calloc(1, sizeof *c);
  if (!c) {
    snprintf(message, message_bytes, "no memory");
    return -1;
  }
  const int status = bench_case_open(c, "f32:q4096:k4096:d64", choice, message, message_bytes);
  *info = c->info;
  bench_case_close(c);
  free(c);
  return status;
}

uint32_t bench_machine_isa(uint32_t ceiling) {
  const struct bench_choice choice = {.isa = ceiling};
  sdpa_plan_info info;
  char message[512];
  return choose(&choice, &info, message, sizeof message) == 0 ? info.isa : SDPA_ISA_GENERIC;
}

static void print_choice(FILE *stream, const struct bench_choice *choice) {
  sdpa_plan_info info;
  char message[512];
  if (choose(choice, &info, message, sizeof message) == 0)
    fprintf(stream, "chosen:       engine %s, ISA %s\n", bench_name_of(bench_engines, info.engine),
            bench_name_of(bench_isas, info.isa));
  else
    fprintf(stream, "chosen:       %s\n", message);
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

void bench_machine_print(FILE *stream, const struct bench_choice *choice) {
  char cpu[256];
  read_cpu_name(cpu, sizeof cpu);
  fprintf(stream, "CPU:          %s, %ld online\n", cpu, sysconf(_SC_NPROCESSORS_ONLN));
  fprintf(stream, "library:      libsdpa %s, %s build\n", sdpa_version_string(),
          SDPA_BENCH_BUILD_TYPE);
  fprintf(stream, "compiler:     %s\n", SDPA_BENCH_COMPILER);
  print_build_info(stream);
  print_choice(stream, choice);

  const int threads = blas_threads();
  if (!blas_is_there())
    fprintf(stream, "BLAS threads: this build has no BLAS\n");
  else if (threads > 0)
    fprintf(stream, "BLAS threads: %d\n", threads);
  else
    fprintf(stream, "BLAS threads: this BLAS does not tell\n");
}

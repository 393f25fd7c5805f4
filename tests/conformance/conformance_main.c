/* conformance_main.c - sdpa-conformance: the ONNX Attention cases against the library
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Reads DIR/cases.txt and runs every case it names. The last line is "P passed, F failed, S
 * skipped"; a case is skipped while sdpa_problem_check() says that this build, engine or ISA does
 * not support it, and the line about it gives the check's own reason. Exit status: 0 if some case
 * passed and none failed, else 1; 2 for bad arguments or a DIR without cases. Under --self-test the
 * result of every case is spoilt in one random element before it is compared, so that every case
 * must fail at exactly that element: 0 if that is so, else 1.
 */
#define _POSIX_C_SOURCE 200809L

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sdpa/sdpa.h>

#include "onnx_attention.h"
#include "onnx_case.h"
#include "onnx_check.h"

struct settings {
  const char *folder;
  uint32_t engine, isa;
  int self_test, verbose;
  struct numpy_rng rng;
};

/* `unsound`: cases that the self-test cannot count on, because they failed before they were spoilt
 * or somewhere else than where they were. */
struct tally {
  int passed, failed, skipped, unsound;
};

struct choice {
  const char *name;
  uint32_t value;
};
static const struct choice engines[] = {{"auto", SDPA_ENGINE_AUTO},
                                        {"blas", SDPA_ENGINE_BLAS},
                                        {"tiled", SDPA_ENGINE_TILED},
                                        {NULL, 0}};
static const struct choice isas[] = {{"auto", SDPA_ISA_AUTO},
                                     {"generic", SDPA_ISA_GENERIC},
                                     {"avx2", SDPA_ISA_AVX2},
                                     {"avx512", SDPA_ISA_AVX512},
                                     {"amx", SDPA_ISA_AMX},
                                     {"neon", SDPA_ISA_NEON},
                                     {NULL, 0}};

static const char usage[] =
    "usage: sdpa-conformance [--engine auto|blas|tiled] "
    "[--isa auto|generic|avx2|avx512|amx|neon] [--self-test[=SEED]] [--verbose] [--help] DIR\n";

static int choose(const struct choice *choices, const char *name, uint32_t *value) {
  for (; choices->name; choices++) {
    if (strcmp(choices->name, name) == 0) {
      *value = choices->value;
      return 0;
    }
  }
  return -1;
}

static int parse_seed(const char *text, struct numpy_rng *rng) {
  unsigned long long seed = 0;
  if (text) {
    char *end;
    seed = strtoull(text, &end, 10);
    if (text[0] < '0' || text[0] > '9' || *end != '\0') return -1;
  }
  numpy_rng_seed(rng, seed);
  return 0;
}

/* Returns 0 to go on, 1 after --help, -1 for bad arguments. */
static int parse_arguments(int argc, char **argv, struct settings *settings) {
  static const struct option options[] = {{"engine", required_argument, NULL, 'e'},
                                          {"isa", required_argument, NULL, 'i'},
                                          {"self-test", optional_argument, NULL, 's'},
                                          {"verbose", no_argument, NULL, 'v'},
                                          {"help", no_argument, NULL, 'h'},
                                          {NULL, 0, NULL, 0}};
  opterr = 0;
  int option;
  while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
    int status = 0;
    switch (option) {
    case 'e':
      status = choose(engines, optarg, &settings->engine);
      break;
    case 'i':
      status = choose(isas, optarg, &settings->isa);
      break;
    case 's':
      settings->self_test = 1;
      status = parse_seed(optarg, &settings->rng);
      break;
    case 'v':
      settings->verbose = 1;
      break;
    case 'h':
      return 1;
    default:
      status = -1;
    }
    if (status != 0) return -1;
  }
  if (optind != argc - 1) return -1;
  settings->folder = argv[optind];
  return 0;
}

/* The self-test of one case: its result, spoilt in one element, must be rejected for that element.
 */
static void check_spoilt(struct settings *settings, const char *name, const struct onnx_case *one,
                         struct onnx_result *result, struct tally *tally) {
  struct onnx_difference place, found;
  char text[512];
  if (onnx_perturb(one, result, &settings->rng, &place) != 0) {
    printf("UNSOUND %s: there is nothing to spoil\n", name);
    tally->unsound++;
    return;
  }
  if (!onnx_check(one, result, &found)) {
    onnx_difference_describe(&place, one, text, sizeof text);
    printf("PASSED %s: spoilt and not noticed; before, %s\n", name, text);
    tally->passed++;
    return;
  }
  tally->failed++;
  onnx_difference_describe(&found, one, text, sizeof text);
  if (found.output != place.output || found.index != place.index) {
    printf("UNSOUND %s: spoilt at %s element %lld, but %s\n", name, onnx_output_name(place.output),
           (long long)place.index, text);
    tally->unsound++;
  } else if (settings->verbose) {
    printf("failed as it must: %s: %s\n", name, text);
  }
}

static void check_result(struct settings *settings, const char *name, const struct onnx_case *one,
                         struct onnx_result *result, const char *what_ran, struct tally *tally) {
  struct onnx_difference difference;
  char text[512];
  if (onnx_check(one, result, &difference)) {
    onnx_difference_describe(&difference, one, text, sizeof text);
    printf("FAILED %s: %s\n", name, text);
    tally->failed++;
    tally->unsound++;
  } else if (settings->self_test) {
    check_spoilt(settings, name, one, result, tally);
  } else {
    tally->passed++;
    if (settings->verbose) printf("passed %s: %s\n", name, what_ran);
  }
}

static void run_case(struct settings *settings, const char *name, struct tally *tally) {
  char path[4096], text[1024] = "the path is too long";
  struct onnx_case one = {0};
  struct onnx_result result = {0};
  enum onnx_outcome outcome = ONNX_ERROR;
  if (snprintf(path, sizeof path, "%s/%s", settings->folder, name) < (int)sizeof path &&
      onnx_case_read(&one, path, text, sizeof text) == 0) {
    outcome = onnx_attention_run(&one, settings->engine, settings->isa, &result, text, sizeof text);
  }
  if (outcome == ONNX_RAN) {
    check_result(settings, name, &one, &result, text, tally);
  } else if (outcome == ONNX_UNSUPPORTED) {
    printf("skipped %s: %s\n", name, text);
    tally->skipped++;
  } else {
    printf("FAILED %s: %s\n", name, text);
    tally->failed++;
    tally->unsound++;
  }
  onnx_result_free(&result);
  onnx_case_free(&one);
}

/* Runs the cases that cases.txt names, one a line. Returns 0, or -1 if there is no such file. */
static int run_cases(struct settings *settings, struct tally *tally) {
  char line[4096];
  FILE *file = NULL;
  if (snprintf(line, sizeof line, "%s/cases.txt", settings->folder) < (int)sizeof line) {
    file = fopen(line, "r");
  }
  if (!file) return -1;
  while (fgets(line, sizeof line, file)) {
    line[strcspn(line, "\r\n")] = '\0';
    if (line[0] != '\0') run_case(settings, line, tally);
  }
  fclose(file);
  return 0;
}

int main(int argc, char **argv) {
  struct settings settings = {0};
  struct tally tally = {0};
  const int parsed = parse_arguments(argc, argv, &settings);
  if (parsed != 0) {
    fputs(usage, parsed > 0 ? stdout : stderr);
    return parsed > 0 ? EXIT_SUCCESS : 2;
  }
  if (run_cases(&settings, &tally) != 0) {
    fprintf(stderr, "sdpa-conformance: cannot open cases.txt in %s\n%s", settings.folder, usage);
    return 2;
  }
  printf("%d passed, %d failed, %d skipped\n", tally.passed, tally.failed, tally.skipped);
  if (settings.self_test) {
    return tally.failed > 0 && tally.passed == 0 && tally.unsound == 0 ? EXIT_SUCCESS : 1;
  }
  return tally.passed > 0 && tally.failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

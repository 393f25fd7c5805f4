/* bench_accuracy.c - errors of the library against exact arithmetic, on every engine and ISA
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Data and reference are made once for problems that differ in their precision alone.
 */
#include "bench_accuracy.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "accuracy_judge.h"
#include "accuracy_report.h"
#include "accuracy_set.h"
#include "bench_check.h"
#include "bench_machine.h"
#include "bench_names.h"
#include "bench_progress.h"
#include "bench_report.h"
#include "engines/plan.h"

enum { MOST_ROWS = 16 }; /* of a head that are compared */

/* A problem's data and exact results. */
struct exact_case {
  struct problem_spec spec; /* precision 0 */
  struct problem_data data;
  struct reference reference;
  int made;
};

static void exact_case_free(struct exact_case *exact) {
  if (!exact->made) return;
  problem_data_free(&exact->data);
  reference_free(&exact->reference);
  exact->made = 0;
}

/* Makes them for `spec`, unless they are those already. Returns 0, or -1 and a sentence. */
static int exact_case_make(struct exact_case *exact, const struct problem_spec *spec, char *message,
                           size_t message_bytes) {
  struct problem_spec wanted = *spec;
  wanted.precision = SDPA_PRECISION_FULL;
  if (exact->made && memcmp(&exact->spec, &wanted, sizeof wanted) == 0) return 0;
  exact_case_free(exact);
  exact->spec = wanted;
  if (problem_data_make(&exact->data, &wanted, NULL, message, message_bytes) != 0) return -1;
  /* The reference's scores serve to measure their size; the library is not asked for them. */
  bench_progress_phase("computing the exact results");
  sdpa_problem with_scores = exact->data.problem;
  with_scores.features |= SDPA_SCORES;
  with_scores.score_stage = SDPA_STAGE_SCALED;
  const int64_t rows = bench_check_rows(&with_scores, 0);
  const struct reference_request request = {.rows_per_head = rows < MOST_ROWS ? rows : MOST_ROWS};
  if (reference_compute(&exact->reference, &with_scores, &exact->data.args, &request) == 0) {
    exact->made = 1;
    return 0;
  }
  problem_data_free(&exact->data);
  snprintf(message, message_bytes, "no memory for the reference");
  return -1;
}

/* L of docs/numerics.md. */
static int64_t longest_chain(const sdpa_plan *plan, const sdpa_problem *problem) {
  const int64_t keys = problem->key_len + ((problem->features & SDPA_SINKS) != 0);
  int64_t chain = keys;
  if (plan->engine->id == SDPA_ENGINE_TILED) {
    const int64_t tile = plan->tiled.by_rows ? 512 : 128;
    if (keys > tile) chain = tile + keys / tile;
  }
  return chain > problem->key_dim ? chain : problem->key_dim;
}

static struct accuracy_terms terms_of(const struct bench_case *c) {
  const sdpa_problem *problem = &c->spec.problem;
  return (struct accuracy_terms){
      .roundoff = reference_limits_of(problem_compute_type(problem)).roundoff,
      .chain = longest_chain(c->plan, problem),
      .allowance = reference_allowance_of(problem, bench_check_precision(c))};
}

/* Runs a plan on the data and judges it. */
static sdpa_status run_and_judge(struct bench_case *c, struct exact_case *exact,
                                 struct accuracy_line *line) {
  const struct accuracy_terms terms = terms_of(c);
  const enum problem_tensor outputs[] = {PROBLEM_OUTPUT, PROBLEM_LSE};
  for (int i = 0; i < 2; i++) {
    struct memory_block *block = &exact->data.block[outputs[i]];
    if (block->bytes > 0) memset(block->begin, 0xFF, block->bytes); /* NaN in every type */
  }
  const sdpa_status status = sdpa_execute(c->plan, &exact->data.args, NULL, 0);
  if (status != SDPA_OK) return status;
  line->engine = c->info.engine;
  line->isa = c->info.isa;
  line->precision = c->info.precision;
  line->parts = c->info.engine == SDPA_ENGINE_TILED ? c->plan->tiled.matrix.scores.left : 0;
  line->chain = terms.chain;
  accuracy_judge(&exact->reference, &exact->data, &terms, &line->figures);
  return SDPA_OK;
}

/* What a run has done so far. */
struct progress {
  struct exact_case exact;
  int json, failed;
  int is_set; /* of accuracy_set.h: what would run at another precision than asked is left out */
};

enum { MOST_PRECISIONS = 8 };
enum outcome { MADE_A_LINE, OTHER_PRECISION, NOT_SERVED, FAILED };

static void fail(struct progress *p, const char *problem, const char *sentence) {
  bench_progress_wipe();
  if (p->json) bench_report_json_error(stdout, problem, sentence);
  fprintf(stderr, "sdpa-bench: %s: %s\n", problem, sentence);
  p->failed = 1;
}

static enum outcome print_line(const struct progress *p, const struct accuracy_line *line,
                               char *message, size_t message_bytes) {
  bench_progress_wipe();
  if (p->json)
    accuracy_report_json(stdout, line);
  else
    accuracy_report_row(stdout, line);
  if (accuracy_within_bound(&line->figures)) return MADE_A_LINE;
  snprintf(message, message_bytes, "engine %s, ISA %s: an error is beyond the bound",
           bench_name_of(bench_engines, line->engine), bench_name_of(bench_isas, line->isa));
  return FAILED;
}

/* One plan of a problem that is served. */
static enum outcome measure_plan(struct progress *p, const struct bench_choice *choice,
                                 struct bench_case *c, const char *problem, char *message,
                                 size_t message_bytes) {
  struct accuracy_line line = {.problem = problem};
  if (c->spec.backward) {
    snprintf(message, message_bytes,
             "bwd: --accuracy measures the forward pass, expected no \"bwd\"");
    return NOT_SERVED;
  }
  if (choice->isa != SDPA_ISA_AUTO && c->info.isa != choice->isa) {
    snprintf(message, message_bytes,
             "the ISA %s is not on this machine, or SDPA_MAX_ISA forbids it",
             bench_name_of(bench_isas, choice->isa));
    return NOT_SERVED;
  }
  if (p->is_set && c->info.precision != c->spec.precision) return OTHER_PRECISION;
  if (exact_case_make(&p->exact, &c->spec, message, message_bytes) != 0) return FAILED;
  const sdpa_status status = run_and_judge(c, &p->exact, &line);
  if (status == SDPA_OK) return print_line(p, &line, message, message_bytes);
  snprintf(message, message_bytes, "%s", sdpa_status_string(status));
  return FAILED;
}

/* One problem on one engine and ISA; a sentence for NOT_SERVED and FAILED. */
static enum outcome measure(struct progress *p, const char *problem,
                            const struct bench_choice *choice, char *message,
                            size_t message_bytes) {
  struct bench_case c;
  enum outcome outcome = NOT_SERVED;
  if (bench_case_open(&c, problem, choice, message, message_bytes) == 0)
    outcome = measure_plan(p, choice, &c, problem, message, message_bytes);
  bench_case_close(&c);
  return outcome;
}

/* The products of engine blas are the BLAS's, whatever the ISA: where none is named the best will
 * do. */
static int is_asked(const struct bench_choice *choice, uint32_t engine, uint32_t isa) {
  if (engine == SDPA_ENGINE_AUTO) return 0;
  if (choice->engine != SDPA_ENGINE_AUTO && choice->engine != engine) return 0;
  if (choice->isa != SDPA_ISA_AUTO) return isa == choice->isa;
  return engine == SDPA_ENGINE_BLAS ? isa == SDPA_ISA_AUTO : isa != SDPA_ISA_AUTO;
}

/* A problem on all engines and ISAs that are asked for. Returns the number of lines. */
static int measure_all(struct progress *p, const char *problem, const struct bench_choice *choice) {
  char message[1024] = "";
  int count[4] = {0};
  for (const struct bench_name *engine = bench_engines; engine->name; engine++) {
    for (const struct bench_name *isa = bench_isas; isa->name; isa++) {
      if (!is_asked(choice, engine->value, isa->value)) continue;
      const struct bench_choice one = {engine->value, isa->value, choice->threads};
      const enum outcome outcome = measure(p, problem, &one, message, sizeof message);
      if (outcome == FAILED) fail(p, problem, message);
      count[outcome]++;
    }
  }
  if (count[NOT_SERVED] > 0 && count[MADE_A_LINE] + count[FAILED] + count[OTHER_PRECISION] == 0)
    fail(p, problem, message);
  return count[MADE_A_LINE];
}

static void measure_set(struct progress *p, const struct bench_choice *choice) {
  int precisions = 0, lines[MOST_PRECISIONS] = {0};
  while (bench_precisions[precisions].name) precisions++;
  p->is_set = 1;
  for (int i = 0; i < accuracy_set_count() * precisions; i++) {
    const struct bench_name *precision = &bench_precisions[i % precisions];
    char problem[256], base[128];
    accuracy_set_print(i / precisions, base, sizeof base);
    snprintf(problem, sizeof problem, "%s:precision=%s", base, precision->name);
    if (precision->value == SDPA_PRECISION_FULL) snprintf(problem, sizeof problem, "%s", base);
    bench_progress_item(i + 1, accuracy_set_count() * precisions, problem);
    lines[i % precisions] += measure_all(p, problem, choice);
  }
  bench_progress_wipe();
  for (int i = 0; i < precisions; i++)
    if (lines[i] == 0 && !p->failed)
      fprintf(p->json ? stderr : stdout, "precision %s: runs as another one on this machine\n",
              bench_precisions[i].name);
}

int bench_accuracy_run(char *const *problem, int problems, const struct bench_choice *choice,
                       int json) {
  struct progress *p = calloc(1, sizeof *p);
  if (!p) {
    fprintf(stderr, "sdpa-bench: no memory\n");
    return -1;
  }
  p->json = json;
  if (!json) accuracy_report_head(stdout);
  if (problems == 0) measure_set(p, choice);
  for (int i = 0; i < problems; i++) {
    bench_progress_item(i + 1, problems, problem[i]);
    measure_all(p, problem[i], choice);
  }
  exact_case_free(&p->exact);
  const int failed = p->failed;
  free(p);
  bench_progress_wipe();
  return failed ? -1 : 0;
}

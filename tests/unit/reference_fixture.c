/* reference_fixture.c - a small problem with numbers set by hand, and its reference
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "reference_fixture.h"

#include <string.h>

void fixture_begin(struct reference_fixture *f, const char *text) {
  struct problem_spec spec;
  char message[PROBLEM_MESSAGE_MAX];
  memset(f, 0, sizeof *f);
  if (problem_parse(text, &spec, message, sizeof message) != 0) fail_msg("%s: %s", text, message);
  assert_int_equal(problem_data_make(&f->data, &spec, NULL, message, sizeof message), 0);
}

void fixture_set(struct reference_fixture *f, enum problem_tensor tensor, const double *values,
                 size_t n) {
  uint32_t type = problem_type(&f->data.problem, tensor);
  for (size_t i = 0; i < n; i++)
    problem_store(type, f->data.block[tensor].origin + i * problem_type_bytes(type), values[i]);
}

void fixture_set_scalar(struct reference_fixture *f, enum problem_block block, double value) {
  problem_store(problem_compute_type(&f->data.problem), f->data.block[block].origin, value);
}

void fixture_run(struct reference_fixture *f) {
  struct reference_request request = {0, 1, SDPA_PRECISION_FMA};
  reference_free(&f->reference);
  assert_int_equal(reference_compute(&f->reference, &f->data.problem, &f->data.args, &request), 0);
}

void fixture_end(struct reference_fixture *f) {
  reference_free(&f->reference);
  problem_data_free(&f->data);
}

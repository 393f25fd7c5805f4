/* consumer.c - what a user's program does with the library, in plain C99
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Prints the loaded library's version and "ok". Exits 1 where a result is wrong, 2 where the
 * library refuses, 3 where it is of another version than the header.
 */
#include <sdpa/sdpa.h>

#include <math.h>
#include <stdio.h>

/* Two queries of two heads on one key head, two keys. Query 0 scores ln 3 higher on key 0, so that
 * its weights are 3/4 and 1/4; query 1 scores both the same. */
static int check_attention(void) {
  const double ln3 = 1.0986122886681098;
  double query[4], key[2] = {1, 0}, value[2] = {4, 8}, output[4] = {0, 0, 0, 0};
  const double expected[4] = {5, 6, 5, 6};
  sdpa_problem problem;
  sdpa_args args;
  int i;
  query[0] = query[2] = ln3;
  query[1] = query[3] = 0;
  if (sdpa_problem_init(&problem, sizeof problem) != SDPA_OK) return 2;
  if (sdpa_args_init(&args, sizeof args) != SDPA_OK) return 2;
  problem.query_type = SDPA_F64;
  problem.batch = 1;
  problem.query_heads = 2;
  problem.kv_heads = 1;
  problem.query_len = problem.key_len = 2;
  problem.key_dim = problem.value_dim = 1;
  if (sdpa_problem_layout(&problem, SDPA_LAYOUT_BHSD) != SDPA_OK) return 2;
  args.query = query;
  args.key = key;
  args.value = value;
  args.output = output;
  if (sdpa_attention(&problem, NULL, &args) != SDPA_OK) return 2;
  for (i = 0; i < 4; i++)
    if (!(fabs(output[i] - expected[i]) < 1e-13)) return 1;
  return 0;
}

int main(void) {
  const int result = check_attention();
  if (result != 0) return result;
  if (sdpa_version() != SDPA_VERSION) return 3;
  printf("%s ok\n", sdpa_version_string());
  return 0;
}

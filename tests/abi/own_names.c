/* own_names.c - a program whose own functions are called like internals of an attention library
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Each side must use its own: the library's result is right, and the program's functions were
 * called exactly as often as the program itself called them.
 */
#include <sdpa/sdpa.h>

#include <math.h>
#include <stdio.h>

static int calls;

void softmax(void);
void gemm_pack(void);
void thread_pool_create(void);
void parallel_for(void);
void arena_alloc(void);
void cpu_features(void);

void softmax(void) {
  calls++;
}
void gemm_pack(void) {
  calls++;
}
void thread_pool_create(void) {
  calls++;
}
void parallel_for(void) {
  calls++;
}
void arena_alloc(void) {
  calls++;
}
void cpu_features(void) {
  calls++;
}

int main(void) {
  const double query[1] = {1.0986122886681098}, key[2] = {1, 0}, value[2] = {4, 8};
  double output[1] = {0};
  if (sdpa_attention_f64(1, 2, 1, 1, query, key, value, output, NULL) != SDPA_OK) return 2;
  if (!(fabs(output[0] - 5) < 1e-13)) return 1;
  if (calls != 0) return printf("the library called the program's functions %d times\n", calls), 1;
  softmax();
  gemm_pack();
  thread_pool_create();
  parallel_for();
  arena_alloc();
  cpu_features();
  return puts(calls == 6 ? "ok" : "a function of the program was replaced"), calls != 6;
}

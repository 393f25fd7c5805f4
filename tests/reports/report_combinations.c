/* report_combinations.c - a reported failure about options that switch each other off
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "report_case.h"

#include <math.h>

#include "report_list.h"

/* Options that change nothing with the numbers that they get here. */
static const uint32_t neutral[] = {SDPA_MASK,  SDPA_BIAS,     SDPA_ALIBI,
                                   SDPA_SINKS, SDPA_KEY_LENS, SDPA_QUERY_LENS,
                                   SDPA_SCALE, SDPA_WINDOW,   SDPA_OFFSETS};
enum { NEUTRAL = sizeof neutral / sizeof *neutral, ROWS = 3, HEADS = 2 };

static const double zeros[4 * HEADS * ROWS * ROWS] = {0};
static const uint8_t attend[HEADS * ROWS * ROWS] = {1, 1, 1, 1, 1, 1, 1, 1, 1,
                                                    1, 1, 1, 1, 1, 1, 1, 1, 1};

static void set_options(struct report_case *c, unsigned choice) {
  static const double no_sink[HEADS] = {-INFINITY, -INFINITY};
  static const int64_t full = ROWS, no_offset = 0;
  sdpa_problem *p = &c->problem;
  for (int k = 0; k < NEUTRAL; k++)
    if (choice >> k & 1) p->features |= neutral[k];
  p->alignment = p->features & SDPA_OFFSETS ? SDPA_ALIGN_OFFSET : SDPA_ALIGN_BOTTOM_RIGHT;
  if (p->features & SDPA_WINDOW) p->window_left = p->window_right = -1;
  if (p->features & SDPA_SCALE) p->scale = 2;
  if (p->features & SDPA_MASK) c->mask = attend;
  if (p->features & SDPA_BIAS) c->bias = (struct report_input){zeros, HEADS * ROWS * ROWS, 0};
  if (p->features & SDPA_ALIBI) c->slopes = (struct report_input){zeros, HEADS, 0};
  if (p->features & SDPA_SINKS) c->sinks = REPORT_INPUT(no_sink);
  if (p->features & SDPA_KEY_LENS) c->key_lens = &full;
  if (p->features & SDPA_QUERY_LENS) c->query_lens = &full;
  if (p->features & SDPA_OFFSETS) c->offsets = &no_offset;
}

/* Q and K zero, V 3, 6, 9 in every kv head. strided: V's rows lie four apart, and O's too. */
static void check_choice(unsigned choice, int kv_heads, int strided) {
  static const double tight[] = {3, 6, 9, 3, 6, 9};
  static const double apart[] = {3,   NAN, NAN, NAN, 6,   NAN, NAN, NAN, 9,   NAN, NAN,
                                 NAN, 3,   NAN, NAN, NAN, 6,   NAN, NAN, NAN, 9};
  static const double output[] = {3, 4.5, 6, 3, 4.5, 6};
  struct report_case c;
  report_case_init(&c, (struct report_sizes){1, HEADS, kv_heads, ROWS, ROWS, 1, 1}, 0);
  c.problem.features |= SDPA_CAUSAL;
  set_options(&c, choice);
  c.query = (struct report_input){zeros, HEADS * ROWS, 0};
  c.key = (struct report_input){zeros, kv_heads * ROWS, 0};
  if (strided) {
    c.problem.value = c.problem.output = (sdpa_strides){0, 4 * ROWS, 4, 1};
    c.value = (struct report_input){apart, 4 * (kv_heads * ROWS - 1) + 1, 0};
  } else {
    c.value = (struct report_input){tight, kv_heads * ROWS, 0};
  }
  report_check_output(&c, output);
}

/* keras-team/keras#23038: an unrelated option moved the call to a path that forgot causal. All
 * options that could, in all combinations; weights and lse come and go with the paths. */
void test_A8_causal_with_other_options(void **state) {
  (void)state;
  for (unsigned choice = 0; choice < 1u << NEUTRAL; choice++)
    for (int kv_heads = 1; kv_heads <= HEADS; kv_heads++)
      for (int strided = 0; strided < 2; strided++) check_choice(choice, kv_heads, strided);
}

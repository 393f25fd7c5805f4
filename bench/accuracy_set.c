/* accuracy_set.c - the problems whose accuracy is measured where none is named
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "accuracy_set.h"

#include <stdio.h>

/* Scales of scores of size 1, 10, 100. */
static const char *const scales[] = {"0.125", "1.25", "12.5"};
static const char *const all_keys[] = {"64", "256", "1024", "4096", "16384"};
static const char *const many_keys[] = {"4096", "16384"};

/* Types, then rows, for each of which the scales and the numbers of keys are gone through. With an
 * output in f32 the error of 16-bit data shows what their rounding at the end hides. */
static const struct group {
  const char *types, *rows;
  const char *const *keys;
  int key_counts;
} groups[] = {
    {"f64", "q64", all_keys, 5},
    {"f32", "q64", all_keys, 5},
    {"bf16", "q64", all_keys, 5},
    {"f16", "q64", all_keys, 5},
    {"q=bf16,o=f32", "q64", all_keys, 5},
    {"q=f16,o=f32", "q64", all_keys, 5},
    {"q=f32,kv=bf16,o=f32", "q64", all_keys, 5},
    {"f32", "b8:q2", many_keys, 2},
    {"q=f32,kv=bf16,o=f32", "b8:q2", many_keys, 2},
};
enum { GROUPS = sizeof groups / sizeof *groups, SCALES = sizeof scales / sizeof *scales };

int accuracy_set_count(void) {
  int count = 0;
  for (int g = 0; g < GROUPS; g++) count += SCALES * groups[g].key_counts;
  return count;
}

void accuracy_set_print(int which, char *text, size_t text_bytes) {
  const struct group *group = groups;
  for (; which >= SCALES * group->key_counts; group++) which -= SCALES * group->key_counts;
  snprintf(text, text_bytes, "%s:%s:k%s:d64:scale=%s:lse", group->types, group->rows,
           group->keys[which % group->key_counts], scales[which / group->key_counts]);
}

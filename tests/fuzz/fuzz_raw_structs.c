/* fuzz_raw_structs.c - fuzzes the public functions with structs and numbers of any bytes
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The first byte says which functions (raw_calls.h). Pointers are drawn so that a call which passes
 * the checks touches memory of the harness only; what it may not touch, a sanitizer guards.
 * Whatever the arguments: the status is known, the text terminated, the same question has the same
 * answer in every way to ask it, nothing is written on an error, no input ever, and every block is
 * released.
 */
#include "raw_calls.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct fuzz_bytes in = {data, data + size};
  switch (fuzz_below(&in, 8)) {
  case 0:
    raw_fill(&in);
    break;
  case 1:
    raw_matrix(&in);
    break;
  case 2:
    raw_merge(&in);
    break;
  default:
    raw_plan(&in);
  }
  return 0;
}

/* struct_copy.c - a struct of any size with a size field, at the end of a page
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "struct_copy.h"

#include "api_support.h"

#include <string.h>

struct guard_block struct_copy(const void *valid, size_t own, uint32_t size) {
  struct guard_block block;
  const size_t bytes = size < sizeof size ? sizeof size : size;
  assert_int_equal(guard_alloc(&block, (bytes + 7) / 8 * 8, 0, 0, GUARD_END), 0);
  memset(block.data + bytes, 0xFF, (bytes + 7) / 8 * 8 - bytes);
  memcpy(block.data, valid, size < own ? size : own);
  memcpy(block.data, &size, sizeof size);
  return block;
}

void struct_copy_assert_intact(const struct guard_block *block, size_t bytes) {
  for (size_t i = bytes; i % 8 != 0; i++) assert_int_equal(block->data[i], 0xFF);
}

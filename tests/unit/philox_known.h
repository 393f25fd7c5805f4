/* philox_known.h - known answers of Philox4x32-10
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Those that Salmon, Moraes, Dror and Shaw publish with "Parallel Random Numbers: As Easy as 1, 2, 3"
 * (SC 2011), in the file kat_vectors of Random123: counter and key of all zeros, of all ones, and of
 * the digits of pi.
 */
#ifndef PHILOX_KNOWN_H
#define PHILOX_KNOWN_H

#include <stdint.h>

static const struct {
  uint32_t counter[4], key[2], answer[4];
} philox_known[] = {
    {{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
    {{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
     {0xffffffff, 0xffffffff},
     {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
    {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
     {0xa4093822, 0x299f31d0},
     {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
};

#endif

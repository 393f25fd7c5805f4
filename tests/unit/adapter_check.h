/* adapter_check.h - what both adapters of docs/threading.md must pass
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef ADAPTER_CHECK_H
#define ADAPTER_CHECK_H

#include "sdpa/sdpa.h"

/* The loop runs every task once, for several numbers of tasks, with items that meet in `threads`
 * tasks at a time; and attention through these options gives the bits of one thread. */
void adapter_check(const sdpa_options *options, int threads);

#endif

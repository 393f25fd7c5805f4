/* peak_amx.c - the ceilings' loop over tiles, by AMX-TILE and AMX-BF16
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Compiled with flags of its own: to be called only where the library chose the ISA, which includes
 * the system's permission for this process.
 */
#include "kernels/x86/amx_tiles.h"

#include "peak_tables.h"

#define PEAK_TILES peak_tiles_amx
#include "peak_tiles_tpl.h"

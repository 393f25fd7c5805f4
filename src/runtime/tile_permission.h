/* tile_permission.h - may this process use the CPU's tile registers?
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SDPAI_TILE_PERMISSION_H
#define SDPAI_TILE_PERMISSION_H

/* 1 if the system lets this process use tile data, else 0. Asks at the first call and keeps the
 * answer. Linux grants it for the whole process, its later threads and children, for good; all that
 * changes for code that uses no tiles is the room that a signal frame needs on a thread that does.
 * Only where sdpai_cpu_detect() shows SDPAI_CPU_AMX. Safe from any thread. */
int sdpai_tiles_permitted(void);

#endif

/* ceilings.h - the loops of peak_loops.h as functions to be timed beside a problem
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Each runs on every thread of a team at once: rates are those of all threads together.
 */
#ifndef CEILINGS_H
#define CEILINGS_H

#include <stdint.h>

#include "peak_loops.h"
#include "thread_team.h"
#include "timing.h"

struct ceilings {
  const struct peak_loops *loops;
  struct thread_team *team;
  int is_f64;                           /* which FMA loop and register kernels */
  struct ceiling *part;                 /* one a thread: buffers in its L1 */
  const struct register_kernel *kernel; /* the fastest shape here */
  peak_tiles tiles;                     /* NULL: no unit for tiles, or f64 */
  unsigned char *read_from;             /* read_bytes of them; NULL: none to be had */
  int64_t read_bytes;                   /* in all threads together */
  int reads_ahead;                      /* the faster way to read */
  int64_t calls;                        /* of the run under way */
};

/* Prepares the ceilings for an ISA and a number of threads, and by a short timing picks the fastest
 * shape of register kernel and the faster way to read `read_bytes` bytes (0: no reading), rounded
 * up to whole lines for every thread. Returns 0, or -1 without memory or threads; if it is only the
 * buffer to read that does not fit, read_from is NULL. */
int ceilings_create(struct ceilings *ceilings, uint32_t isa, int threads, int is_f64,
                    int64_t read_bytes);
void ceilings_destroy(struct ceilings *ceilings);

/* For struct timed; arg is the struct ceilings. One call is ceilings_..._flops() operations,
 * CEILINGS_EXPS exponentials on each thread, read_bytes bytes read, CEILINGS_ADDS cycles. */
double ceilings_run_fma(void *arg, int64_t calls);
double ceilings_run_kernel(void *arg, int64_t calls);
double ceilings_run_exp(void *arg, int64_t calls);
double ceilings_run_read(void *arg, int64_t calls);
double ceilings_run_tiles(void *arg, int64_t calls); /* only with tiles */
double ceilings_run_adds(void *arg, int64_t calls);  /* on the first thread alone */

enum { CEILINGS_EXPS = 2048, CEILINGS_ADDS = 4096 };
double ceilings_fma_flops(const struct ceilings *ceilings);
double ceilings_kernel_flops(const struct ceilings *ceilings);
double ceilings_tile_flops(const struct ceilings *ceilings);

#endif

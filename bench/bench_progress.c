/* bench_progress.c - the progress line
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#define _POSIX_C_SOURCE 200809L

#include "bench_progress.h"

#include <stdio.h>
#include <unistd.h>

#include "timing.h"

static struct {
  int number, total, shown;
  const char *name;
  double painted;
} line;

static void paint(const char *what) {
  if (!isatty(STDERR_FILENO)) return;
  fprintf(stderr, "\r\033[K[%d/%d] %.48s: %s", line.number, line.total, line.name, what);
  fflush(stderr);
  line.shown = 1;
  line.painted = timing_now();
}

void bench_progress_item(int number, int total, const char *name) {
  line.number = number;
  line.total = total;
  line.name = name;
}

void bench_progress_phase(const char *phase) {
  paint(phase);
}

void bench_progress_round(void *unused, int round, double spread) {
  char text[64];
  (void)unused;
  if (timing_now() - line.painted < 0.25) return;
  snprintf(text, sizeof text, "round %d, median within %.1f %%", round, 100.0 * spread);
  paint(text);
}

void bench_progress_wipe(void) {
  if (line.shown) fputs("\r\033[K", stderr);
  line.shown = 0;
}

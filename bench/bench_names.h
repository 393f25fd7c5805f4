/* bench_names.h - engines, ISAs and precisions by name
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef BENCH_NAMES_H
#define BENCH_NAMES_H

#include <stdint.h>

struct bench_name {
  const char *name;
  uint32_t value;
};

/* Each ends with a NULL name. */
extern const struct bench_name bench_engines[], bench_isas[], bench_precisions[];

/* "unknown" for a value that has no name. */
const char *bench_name_of(const struct bench_name *names, uint32_t value);

/* Returns 0, or -1 for a name that nothing has. */
int bench_value_of(const struct bench_name *names, const char *name, uint32_t *value);

#endif

/* report.h - the sentence that goes with an error status
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Every check takes a struct sdpai_report *. The calls that only want a status pass NULL and pay
 * for no formatting; the ..._check() functions pass a buffer of the caller's.
 */
#ifndef SDPAI_REPORT_H
#define SDPAI_REPORT_H

#include <stddef.h>
#include <stdint.h>

#include "runtime/compiler.h"

struct sdpai_report {
  char *text;   /* may be NULL if bytes is 0 */
  size_t bytes; /* size of text; text is always terminated if bytes > 0 */
};

/* A report to the caller's buffer, which may be NULL; empty so far. */
void sdpai_report_start(struct sdpai_report *report, char *text, size_t bytes);

/* Writes the sentence, if there is a report to write to, and returns `status`, so that a check
 * reads `return sdpai_fail(report, SDPA_ERROR_VALUE, "...", ...)`. Leaves errno as it was. */
int32_t sdpai_fail(struct sdpai_report *report, int32_t status, const char *format, ...)
    SDPAI_PRINTF(3, 4);

/* Appends to a text under construction as snprintf would: *length grows by the full length of the
 * addition, whether or not it fits, and the text stays terminated. Leaves errno as it was. */
void sdpai_append(char *text, size_t bytes, size_t *length, const char *format, ...)
    SDPAI_PRINTF(4, 5);

#endif

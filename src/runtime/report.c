/* report.c - the sentence that goes with an error status
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "runtime/report.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

void sdpai_report_start(struct sdpai_report *report, char *text, size_t bytes) {
  report->text = text;
  report->bytes = text ? bytes : 0;
  if (report->bytes > 0) text[0] = '\0';
}

int32_t sdpai_fail(struct sdpai_report *report, int32_t status, const char *format, ...) {
  if (report && report->bytes > 0) {
    int saved = errno;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(report->text, report->bytes, format, arguments);
    va_end(arguments);
    errno = saved;
  }
  return status;
}

void sdpai_append(char *text, size_t bytes, size_t *length, const char *format, ...) {
  int saved = errno;
  size_t used = *length < bytes ? *length : bytes;
  va_list arguments;
  va_start(arguments, format);
  int added = vsnprintf(used < bytes ? text + used : NULL, bytes - used, format, arguments);
  va_end(arguments);
  if (added > 0) *length += (size_t)added;
  errno = saved;
}

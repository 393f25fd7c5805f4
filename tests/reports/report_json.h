/* report_json.h - reads a JSON array of objects whose values are strings
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The form of the collection of reported failures, and nothing more of JSON: anything else is an
 * error.
 */
#ifndef REPORT_JSON_H
#define REPORT_JSON_H

#include <stddef.h>

enum { REPORT_JSON_VALUE = 2048 };

/* Called for each member; text that is longer than the buffers is cut, escapes are kept as they
 * stand. `object` counts from 0. */
typedef void (*report_json_member)(void *ctx, int object, const char *name, const char *value);

/* Reads the whole text. Returns the number of objects, or -1 where it is not such an array. */
int report_json_read(const char *text, report_json_member member, void *ctx);

#endif

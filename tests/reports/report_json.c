/* report_json.c - reads a JSON array of objects whose values are strings
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "report_json.h"

#include <string.h>

/* Moves past blanks and then `c`; returns whether it was there. */
static int take(const char **at, char c) {
  *at += strspn(*at, " \t\r\n");
  if (**at != c || c == '\0') return 0;
  ++*at;
  return 1;
}

static int take_string(const char **at, char text[REPORT_JSON_VALUE]) {
  size_t n = 0;
  if (!take(at, '"')) return 0;
  for (; **at != '"'; ++*at) {
    if (**at == '\0' || (**at == '\\' && (*at)[1] == '\0')) return 0;
    const size_t length = **at == '\\' ? 2 : 1;
    if (n + length < REPORT_JSON_VALUE) {
      memcpy(text + n, *at, length);
      n += length;
    }
    *at += length - 1;
  }
  text[n] = '\0';
  ++*at;
  return 1;
}

static int take_object(const char **at, int object, report_json_member member, void *ctx) {
  char name[REPORT_JSON_VALUE], value[REPORT_JSON_VALUE];
  if (!take(at, '{')) return 0;
  do {
    if (!take_string(at, name) || !take(at, ':') || !take_string(at, value)) return 0;
    member(ctx, object, name, value);
  } while (take(at, ','));
  return take(at, '}');
}

int report_json_read(const char *text, report_json_member member, void *ctx) {
  int objects = 0;
  if (!take(&text, '[')) return -1;
  do {
    if (!take_object(&text, objects, member, ctx)) return -1;
    objects++;
  } while (take(&text, ','));
  if (!take(&text, ']')) return -1;
  return text[strspn(text, " \t\r\n")] == '\0' ? objects : -1;
}

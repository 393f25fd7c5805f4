/* flat_json.h - reads a line that holds one JSON object without objects or arrays in it
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * RFC 8259, strictly: what it accepts, every parser does. Strings may hold escapes of one letter
 * and \u00XX.
 */
#ifndef FLAT_JSON_H
#define FLAT_JSON_H

enum { FLAT_JSON_MOST = 32, FLAT_JSON_STRING = 1024 };
enum flat_json_type { FLAT_JSON_STRING_VALUE, FLAT_JSON_NUMBER, FLAT_JSON_BOOLEAN, FLAT_JSON_NULL };

struct flat_json_member {
  char key[64];
  enum flat_json_type type;
  char string[FLAT_JSON_STRING];
  double number; /* 0 or 1 of a boolean */
};

struct flat_json {
  int members;
  struct flat_json_member member[FLAT_JSON_MOST];
};

/* Returns 0, or the position (from 1) of the first character that does not belong there. */
int flat_json_read(const char *line, struct flat_json *object);

/* NULL if there is no such key. */
const struct flat_json_member *flat_json_find(const struct flat_json *object, const char *key);

#endif

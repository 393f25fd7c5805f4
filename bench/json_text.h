/* json_text.h - writes one flat JSON object on one line
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * RFC 8259. Numbers with enough digits to tell two measurements apart; JSON has no NaN or infinity,
 * which become null.
 */
#ifndef JSON_TEXT_H
#define JSON_TEXT_H

#include <stdint.h>
#include <stdio.h>

struct json_object {
  FILE *stream;
  int members;
};

void json_begin(struct json_object *object, FILE *stream);
void json_string(struct json_object *object, const char *key, const char *value);
void json_integer(struct json_object *object, const char *key, int64_t value);
void json_number(struct json_object *object, const char *key, double value);
void json_boolean(struct json_object *object, const char *key, int value);
void json_null(struct json_object *object, const char *key);
void json_end(struct json_object *object); /* and the newline */

#endif

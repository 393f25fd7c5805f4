/* json_text.c - members, numbers and escapes of a JSON object
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "json_text.h"

#include <math.h>

static void write_string(FILE *stream, const char *text) {
  fputc('"', stream);
  for (; *text != '\0'; text++) {
    const unsigned char c = (unsigned char)*text;
    if (c == '"' || c == '\\')
      fprintf(stream, "\\%c", c);
    else if (c < 0x20 || c == 0x7f)
      fprintf(stream, "\\u%04x", c);
    else
      fputc(c, stream);
  }
  fputc('"', stream);
}

static void begin_member(struct json_object *object, const char *key) {
  if (object->members++ > 0) fputs(", ", object->stream);
  write_string(object->stream, key);
  fputs(": ", object->stream);
}

void json_begin(struct json_object *object, FILE *stream) {
  object->stream = stream;
  object->members = 0;
  fputc('{', stream);
}

void json_string(struct json_object *object, const char *key, const char *value) {
  begin_member(object, key);
  write_string(object->stream, value);
}

void json_integer(struct json_object *object, const char *key, int64_t value) {
  begin_member(object, key);
  fprintf(object->stream, "%lld", (long long)value);
}

void json_number(struct json_object *object, const char *key, double value) {
  begin_member(object, key);
  if (isfinite(value))
    fprintf(object->stream, "%.7g", value);
  else
    fputs("null", object->stream);
}

void json_boolean(struct json_object *object, const char *key, int value) {
  begin_member(object, key);
  fputs(value ? "true" : "false", object->stream);
}

void json_null(struct json_object *object, const char *key) {
  begin_member(object, key);
  fputs("null", object->stream);
}

void json_end(struct json_object *object) {
  fputs("}\n", object->stream);
}

/* flat_json.c - a strict reader of flat JSON objects
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "flat_json.h"

#include <stdlib.h>
#include <string.h>

static const char *skip_blanks(const char *at) {
  return at + strspn(at, " \t\r\n");
}

static int is_digit(char c) {
  return c >= '0' && c <= '9';
}

/* Value of four hexadecimal digits, -1 if they are none or above 0xff. */
static int hexadecimal(const char *at) {
  int value = 0;
  for (int i = 0; i < 4; i++) {
    static const char digits[] = "0123456789abcdef";
    const char *digit = at[i] != '\0' ? strchr(digits, at[i] | 0x20) : NULL;
    if (!digit) return -1;
    value = 16 * value + (int)(digit - digits);
  }
  return value <= 0xff ? value : -1;
}

/* The reading functions return the first character after what they read and leave the fault's place
 * in *fault, NULL if there is none. */
static const char *read_string(const char *at, char *text, size_t room, const char **fault) {
  static const char escapes[] = "\"\\/bfnrt", meanings[] = "\"\\/\b\f\n\r\t";
  size_t length = 0;
  if (*at != '"') {
    *fault = at;
    return at;
  }
  for (at++; *at != '"'; at++) {
    char c = *at;
    if ((unsigned char)c < 0x20 || length + 1 >= room) {
      *fault = at;
      return at;
    }
    if (c == '\\') {
      const char *escape = *++at != '\0' ? strchr(escapes, *at) : NULL;
      const int code = *at == 'u' ? hexadecimal(at + 1) : -1;
      if (!escape && code < 0) {
        *fault = at;
        return at;
      }
      c = escape ? meanings[escape - escapes] : (char)code;
      if (!escape) at += 4;
    }
    text[length++] = c;
  }
  text[length] = '\0';
  return at + 1;
}

/* -? (0 | [1-9][0-9]*) (. [0-9]+)? ([eE] [+-]? [0-9]+)? */
static const char *skip_number(const char *at, const char **fault) {
  if (*at == '-') at++;
  if (!is_digit(*at)) *fault = at;
  if (*at == '0')
    at++;
  else
    while (is_digit(*at)) at++;
  if (*at == '.') {
    if (!is_digit(*++at)) *fault = at;
    while (is_digit(*at)) at++;
  }
  if (*at == 'e' || *at == 'E') {
    at++;
    if (*at == '+' || *at == '-') at++;
    if (!is_digit(*at)) *fault = at;
    while (is_digit(*at)) at++;
  }
  return at;
}

static const char *read_value(const char *at, struct flat_json_member *member, const char **fault) {
  static const struct {
    const char *word;
    enum flat_json_type type;
    double number;
  } words[] = {{"true", FLAT_JSON_BOOLEAN, 1.0},
               {"false", FLAT_JSON_BOOLEAN, 0.0},
               {"null", FLAT_JSON_NULL, 0.0}};
  for (int i = 0; i < 3; i++) {
    const size_t length = strlen(words[i].word);
    if (strncmp(at, words[i].word, length) != 0) continue;
    member->type = words[i].type;
    member->number = words[i].number;
    return at + length;
  }
  if (*at == '"') {
    member->type = FLAT_JSON_STRING_VALUE;
    return read_string(at, member->string, sizeof member->string, fault);
  }
  member->type = FLAT_JSON_NUMBER;
  member->number = strtod(at, NULL);
  return skip_number(at, fault);
}

static const char *read_members(const char *at, struct flat_json *object, const char **fault) {
  while (object->members < FLAT_JSON_MOST) {
    struct flat_json_member *member = &object->member[object->members++];
    at = read_string(skip_blanks(at), member->key, sizeof member->key, fault);
    if (*fault) return at;
    at = skip_blanks(at);
    if (*at != ':') {
      *fault = at;
      return at;
    }
    at = skip_blanks(read_value(skip_blanks(at + 1), member, fault));
    if (*fault || *at != ',') return at;
    at++;
  }
  *fault = at;
  return at;
}

int flat_json_read(const char *line, struct flat_json *object) {
  const char *fault = NULL, *at = skip_blanks(line);
  memset(object, 0, sizeof *object);
  if (*at != '{') return (int)(at - line) + 1;
  at = read_members(at + 1, object, &fault);
  if (!fault && *at != '}') fault = at;
  if (!fault) {
    at = skip_blanks(at + 1);
    if (*at != '\0') fault = at;
  }
  return fault ? (int)(fault - line) + 1 : 0;
}

const struct flat_json_member *flat_json_find(const struct flat_json *object, const char *key) {
  for (int i = 0; i < object->members; i++) {
    if (strcmp(object->member[i].key, key) == 0) return &object->member[i];
  }
  return NULL;
}

/* problem_scan.c - reading one word of a problem string, number by number
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * strtod and friends stop at the colon or comma that ends a number, so words need not be copied
 * out. What they would take beyond plain numbers (signs, spaces, "inf") is ruled out before.
 */
#include "problem_scan.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void scan_fail(struct scan *s, const char *where, const char *format, ...) {
  va_list arguments;
  int n;
  if (s->failed) return;
  s->failed = 1;
  n = snprintf(s->message, s->message_bytes, "character %td: ", where - s->text + 1);
  if (n < 0 || (size_t)n >= s->message_bytes) return;
  va_start(arguments, format);
  vsnprintf(s->message + n, s->message_bytes - (size_t)n, format, arguments);
  va_end(arguments);
}

int scan_word_is(const struct scan *s, const char *name) {
  size_t n = strlen(name);
  return (size_t)(s->end - s->word) == n && memcmp(s->word, name, n) == 0;
}

/* Moves past `prefix` at the cursor if it stands there. */
int scan_take(struct scan *s, const char *prefix) {
  size_t n = strlen(prefix);
  if ((size_t)(s->end - s->at) < n || memcmp(s->at, prefix, n) != 0) return 0;
  s->at += n;
  return 1;
}

int scan_is_digit(char c) {
  return c >= '0' && c <= '9';
}

int64_t scan_integer(struct scan *s, int64_t least, const char *what) {
  const char *begin = s->at;
  char *stop;
  long long value;
  if (s->failed) return 0;
  if (!scan_is_digit(*begin) && !(*begin == '-' && scan_is_digit(begin[1]))) {
    scan_fail(s, begin, "a whole number is expected for %s", what);
    return 0;
  }
  errno = 0;
  value = strtoll(begin, &stop, 10);
  s->at = stop;
  if (errno == ERANGE) scan_fail(s, begin, "%s does not fit in 64 bits", what);
  if (value < least)
    scan_fail(s, begin, "%s is %lld, at least %lld is expected", what, value, (long long)least);
  return value;
}

uint64_t scan_unsigned(struct scan *s, const char *what) {
  const char *begin = s->at;
  char *stop;
  unsigned long long value;
  if (s->failed) return 0;
  if (!scan_is_digit(*begin)) {
    scan_fail(s, begin, "a whole number from 0 is expected for %s", what);
    return 0;
  }
  errno = 0;
  value = strtoull(begin, &stop, 10);
  s->at = stop;
  if (errno == ERANGE) scan_fail(s, begin, "%s does not fit in 64 bits", what);
  return value;
}

double scan_real(struct scan *s, double least, const char *what) {
  const char *begin = s->at;
  char *stop;
  double value;
  if (s->failed) return 0.0;
  if (!scan_is_digit(*begin) &&
      !((*begin == '-' || *begin == '.') && (scan_is_digit(begin[1]) || begin[1] == '.'))) {
    scan_fail(s, begin, "a number is expected for %s", what);
    return 0.0;
  }
  value = strtod(begin, &stop);
  s->at = stop;
  if (!isfinite(value)) scan_fail(s, begin, "%s is not finite", what);
  if (value < least) scan_fail(s, begin, "%s is %g, at least %g is expected", what, value, least);
  return value;
}

void scan_comma(struct scan *s, const char *what) {
  if (!s->failed && !scan_take(s, ",")) scan_fail(s, s->at, "a comma is expected in %s", what);
}

void scan_list(struct scan *s, struct problem_list *list, int64_t least, const char *what) {
  list->given = 1;
  if (scan_take(s, "]")) return;
  do {
    if (list->count == PROBLEM_LIST_MAX) {
      scan_fail(s, s->at, "%s has more than %d numbers", what, PROBLEM_LIST_MAX);
      return;
    }
    list->item[list->count++] = scan_integer(s, least, what);
  } while (!s->failed && scan_take(s, ","));
  if (!s->failed && !scan_take(s, "]")) scan_fail(s, s->at, "']' is expected after %s", what);
}

void scan_order(struct scan *s, char order[5], const char *letters, int all) {
  const char *begin = s->at;
  size_t n = 0;
  while (s->at < s->end && strchr(letters, *s->at) && !memchr(order, *s->at, n) && n < 4)
    order[n++] = *s->at++;
  order[n] = '\0';
  if (n == 0 || (all && n < 4))
    scan_fail(s, begin, "an order of dimensions is expected, from the letters %s", letters);
}

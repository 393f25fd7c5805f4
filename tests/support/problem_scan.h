/* problem_scan.h - reading one word of a problem string, number by number
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The scanner of problem_string.c. Every function does nothing once an error has been reported, so
 * that a caller need not look after each step; the first error is the one that is told.
 */
#ifndef PROBLEM_SCAN_H
#define PROBLEM_SCAN_H

#include "problem_string.h"

struct scan {
  const char *text;
  const char *word, *end; /* the word at hand, without its colon */
  const char *at;         /* next character to read in it */
  char *message;
  size_t message_bytes;
  int failed;
};

/* Reports an error at character `where` of the text. */
#if defined(__GNUC__)
__attribute__((format(printf, 3, 4)))
#endif
void scan_fail(struct scan *s, const char *where, const char *format, ...);

/* 1 if the whole word is `name`. */
int scan_word_is(const struct scan *s, const char *name);

/* Moves past `prefix` if it comes next; returns whether it did. */
int scan_take(struct scan *s, const char *prefix);

int scan_is_digit(char c);

/* A whole or a real number that is at least `least`; `what` names it in an error. */
int64_t scan_integer(struct scan *s, int64_t least, const char *what);
uint64_t scan_unsigned(struct scan *s, const char *what);
double scan_real(struct scan *s, double least, const char *what);

void scan_comma(struct scan *s, const char *what);

/* The numbers of a list and its closing bracket. */
void scan_list(struct scan *s, struct problem_list *list, int64_t least, const char *what);

/* Distinct letters out of `letters`, at least one, all of them if `all`. */
void scan_order(struct scan *s, char order[5], const char *letters, int all);

#endif

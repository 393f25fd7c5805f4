/* accuracy_set.h - the problems whose accuracy is measured where none is named
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * One head and d = 64, so that the scores of standard normal queries and keys have the standard
 * deviation 8 scale: the scales are 1/8, 1.25 and 12.5, the scores of size 1, 10 and 100. 64 query
 * rows, which engine tiled takes in panels, and enough of them for a matrix unit, for every type and
 * number of keys; two rows of 8 batch entries, which it takes by rows, as in decoding.
 */
#ifndef ACCURACY_SET_H
#define ACCURACY_SET_H

#include <stddef.h>

/* Number of problems, each at full precision. Neighbours differ in the number of keys alone. */
int accuracy_set_count(void);

/* Writes problem `which` as its string; as snprintf, without the length. */
void accuracy_set_print(int which, char *text, size_t text_bytes);

#endif

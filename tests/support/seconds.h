/* seconds.h - clocks of the system, in seconds
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SECONDS_H
#define SECONDS_H

double seconds_now(void);     /* from some moment on, the same for all threads */
double thread_seconds(void);  /* CPU time of the calling thread */
double process_seconds(void); /* CPU time of all threads */

#endif

/* thread_team.h - runs one function on N threads at once and says how long that took
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * For ceilings with several threads. Between runs the threads sleep, so that they take nothing from
 * what is measured in turn with them. The time runs from the moment when all of them are awake, so
 * that waking them does not count.
 */
#ifndef THREAD_TEAM_H
#define THREAD_TEAM_H

struct thread_team;

/* `threads` >= 1, the caller's among them. NULL if memory or threads cannot be had. */
struct thread_team *thread_team_create(int threads);
void thread_team_destroy(struct thread_team *team);
int thread_team_size(const struct thread_team *team);

/* Calls work(arg, i) for 0 <= i < threads, each on its own thread, and returns the seconds from
 * their common start to the last one's end. */
double thread_team_run(struct thread_team *team, void (*work)(void *arg, int thread), void *arg);

#endif

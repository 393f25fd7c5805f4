/* own_program.h - the running program once more, as a new process image
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef OWN_PROGRAM_H
#define OWN_PROGRAM_H

/* Replaces the process by a new start of its program with these arguments, of which the first is
 * its name; NULL ends them, at most 8. It is found through /proc, or is what SDPA_OWN_PROGRAM in
 * the environment names: where an emulator or valgrind has to start it, ctest sets this to a script
 * that does (sdpa_starts_itself() in CMake). Returns only if that fails.
 * Allocates nothing, so that a forked child may call it. */
void start_own_program(const char *const args[]);

#endif

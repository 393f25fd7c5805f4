/* stderr_capture.h - runs a group of tests and fails if anything was written to stderr
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The group runs in a child process, so that output which bypasses stdio (a BLAS's, a sanitizer's)
 * is seen as well, and still reaches the terminal.
 */
#ifndef SDPA_TESTS_STDERR_CAPTURE_H
#define SDPA_TESTS_STDERR_CAPTURE_H

#include "api_support.h"

/* The exit code for main(): that of the group, or 1 if it wrote to stderr. */
int run_silent_group(const char *name, const struct CMUnitTest *tests, size_t n);

#endif

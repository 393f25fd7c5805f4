/* report_list.h - the test functions of report_list.def
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef REPORT_LIST_H
#define REPORT_LIST_H

#define REPORT(id, name) void test_##id##_##name(void **state);
#define TIMED(id)
#define BACKWARD(id) void test_##id##_backward(void **state);
#define ELSEWHERE(id, reason)
#include "report_list.def"
#undef REPORT
#undef TIMED
#undef BACKWARD
#undef ELSEWHERE

#endif

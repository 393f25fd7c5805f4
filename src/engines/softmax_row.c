/* softmax_row.c - finishing a row of scores: the one place where a softmax is taken
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "engines/softmax_row.h"

#include <math.h>
#include <string.h>

#define T       float
#define X(name) name##_f32
#define FIELD   f32
#define EXP     expf
#define LOG     logf
#include "engines/softmax_row_tpl.h"
#undef T
#undef X
#undef FIELD
#undef EXP
#undef LOG

#define T       double
#define X(name) name##_f64
#define FIELD   f64
#define EXP     exp
#define LOG     log
#include "engines/softmax_row_tpl.h"

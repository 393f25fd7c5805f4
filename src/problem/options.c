/* options.c - the public options struct: reading and checking
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "problem/problem.h"

enum { MAX_THREADS = 256 };

static sdpa_status check_choices(const sdpa_options *o, struct sdpai_report *report) {
  if (o->engine > SDPA_ENGINE_TILED)
    return sdpai_fail(report, SDPA_ERROR_VALUE,
                      "engine is %u; expected SDPA_ENGINE_AUTO (0), _BLAS (1) or _TILED (2)",
                      (unsigned)o->engine);
  switch (o->isa) {
  case SDPA_ISA_AUTO:
  case SDPA_ISA_GENERIC:
  case SDPA_ISA_AVX2:
  case SDPA_ISA_AVX512:
  case SDPA_ISA_AMX:
  case SDPA_ISA_NEON:
    break;
  default:
    return sdpai_fail(
        report, SDPA_ERROR_VALUE,
        "isa is %u; expected SDPA_ISA_AUTO (0), _GENERIC (1), _AVX2 (20), _AVX512 (30), _AMX (40) "
        "or _NEON (120)",
        (unsigned)o->isa);
  }
  if (o->precision > SDPA_PRECISION_REDUCED)
    return sdpai_fail(report, SDPA_ERROR_VALUE,
                      "precision is %u; expected SDPA_PRECISION_FULL (0), _FMA (1) or _REDUCED (2)",
                      (unsigned)o->precision);
  if (o->reserved0 != 0)
    return sdpai_fail(report, SDPA_ERROR_VALUE, "options.reserved0 is %u; expected 0",
                      (unsigned)o->reserved0);
  if (o->threads < 0)
    return sdpai_fail(report, SDPA_ERROR_VALUE,
                      "threads is %d; expected 0 (default) or a number from 1", (int)o->threads);
  if (!o->alloc != !o->release)
    return sdpai_fail(report, SDPA_ERROR_NULL,
                      "%s is NULL; expected alloc and release both or neither",
                      o->alloc ? "release" : "alloc");
  return SDPA_OK;
}

static sdpa_status check_served(const sdpa_options *o, struct sdpai_report *report) {
#if defined(SDPAI_ARCH_X86)
  const int foreign = o->isa == SDPA_ISA_NEON;
#elif defined(SDPAI_ARCH_ARM64)
  const int foreign =
      o->isa != SDPA_ISA_AUTO && o->isa != SDPA_ISA_GENERIC && o->isa != SDPA_ISA_NEON;
#else
  const int foreign = o->isa != SDPA_ISA_AUTO && o->isa != SDPA_ISA_GENERIC;
#endif
  if (foreign)
    return sdpai_fail(
        report, SDPA_ERROR_UNSUPPORTED,
        "isa is %u, of another architecture than this build's; expected SDPA_ISA_AUTO (0) or one "
        "of its own",
        (unsigned)o->isa);
  return SDPA_OK;
}

sdpa_status sdpai_options_read(const sdpa_options *options, struct sdpai_options *result,
                               struct sdpai_report *report) {
  static const sdpa_options defaults = {.size = sizeof defaults};
  sdpa_options copy;
  const void *view = &defaults;
  if (options) {
    sdpa_status status =
        sdpai_struct_read("sdpa_options", options, options->size, SDPAI_OPTIONS_BASELINE,
                          sizeof copy, &copy, &view, report);
    if (status == SDPA_OK) status = check_choices(view, report);
    if (status == SDPA_OK) status = check_served(view, report);
    if (status != SDPA_OK) return status;
  }
  options = view;
  result->engine = options->engine;
  result->isa = options->isa;
  result->precision = options->precision;
  result->threads = options->threads > MAX_THREADS ? MAX_THREADS : options->threads;
  result->parallel_for = options->parallel_for;
  result->parallel_ctx = options->parallel_ctx;
  result->allocator.alloc = options->alloc;
  result->allocator.release = options->release;
  result->allocator.ctx = options->alloc_ctx;
  return SDPA_OK;
}

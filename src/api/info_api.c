/* info_api.c - which version runs, and on what
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <sdpa/sdpa.h>

#include "blas/blas.h"
#include "engines/engine.h"
#include "kernels/kernels.h"
#include "runtime/parallel.h"
#include "runtime/report.h"

#define STRING(x)  STRING_(x)
#define STRING_(x) #x

int32_t sdpa_version(void) {
  return SDPA_VERSION;
}

const char *sdpa_version_string(void) {
  return STRING(SDPA_VERSION_MAJOR) "." STRING(SDPA_VERSION_MINOR) "." STRING(SDPA_VERSION_PATCH);
}

size_t sdpa_build_info(char *text, size_t text_bytes) {
  size_t length = 0;
  if (text_bytes > 0) text[0] = '\0';
  sdpai_append(text, text_bytes, &length, "libsdpa %s; isa %s of", sdpa_version_string(),
               sdpai_kernels_select(SDPA_ISA_AUTO)->name);
  for (int i = 0; sdpai_kernels_available(i); i++)
    sdpai_append(text, text_bytes, &length, " %s", sdpai_kernels_available(i)->name);
  sdpai_append(text, text_bytes, &length, "; engines");
  for (int i = 0; sdpai_engine(i); i++)
    if (!sdpai_engine_obstacle(i))
      sdpai_append(text, text_bytes, &length, " %s", sdpai_engine(i)->name);
  sdpai_append(text, text_bytes, &length, "; threads %d; BLAS ", (int)sdpai_default_threads());
#if defined(SDPAI_WITH_BLAS)
  sdpai_blas_describe(text, text_bytes, &length);
#else
  sdpai_append(text, text_bytes, &length, "none");
#endif
  for (int i = 0; sdpai_engine(i); i++)
    if (sdpai_engine_obstacle(i))
      sdpai_append(text, text_bytes, &length, "; engine %s cannot be used: %s",
                   sdpai_engine(i)->name, sdpai_engine_obstacle(i));
  if (sdpai_kernels_ignored_ceiling())
    sdpai_append(text, text_bytes, &length,
                 "; SDPA_MAX_ISA=%.40s ignored: it names no ISA of this build",
                 sdpai_kernels_ignored_ceiling());
  if (sdpai_ignored_threads())
    sdpai_append(text, text_bytes, &length,
                 "; SDPA_NUM_THREADS=%.40s ignored: it is no number from 1 upwards",
                 sdpai_ignored_threads());
  return length;
}

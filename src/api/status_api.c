/* status_api.c - texts of the statuses
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <sdpa/sdpa.h>

const char *sdpa_status_string(sdpa_status status) {
  switch (status) {
  case SDPA_OK:
    return "success";
  case SDPA_ERROR_STRUCT_SIZE:
    return "a struct's size is below that of version 0.1, or its unknown tail is not zero";
  case SDPA_ERROR_NULL:
    return "a required pointer is NULL";
  case SDPA_ERROR_UNDECLARED:
    return "a tensor was passed that the problem does not declare";
  case SDPA_ERROR_VALUE:
    return "a number is outside its legal range";
  case SDPA_ERROR_SHAPE:
    return "sizes are negative or do not fit each other";
  case SDPA_ERROR_STRIDE:
    return "a stride is illegal for its tensor";
  case SDPA_ERROR_ALIGNMENT:
    return "data or workspace is not aligned";
  case SDPA_ERROR_OVERFLOW:
    return "a byte count does not fit in the address space";
  case SDPA_ERROR_WORKSPACE:
    return "the workspace is too small";
  case SDPA_ERROR_UNSUPPORTED:
    return "a legal request that this build, engine or ISA does not serve";
  case SDPA_ERROR_MEMORY:
    return "an allocation failed";
  case SDPA_ERROR_CALLBACK:
    return "parallel_for did not run every task once";
  default:
    return "unknown status";
  }
}

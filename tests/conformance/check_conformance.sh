#!/bin/sh
# check_conformance.sh - runs sdpa-conformance and demands its last line and exit status 0
#
# SPDX-License-Identifier: BSD-3-Clause
#
# check_conformance.sh PROGRAM LAST_LINE [OPTION...]
# The cases lie in $SDPA_SHARED_DIR/conformance/onnx-attention; without them exit 77, which ctest counts as
# skipped.
program=$1
wanted=$2
shift 2
cases=$SDPA_SHARED_DIR/conformance/onnx-attention
if [ ! -f "$cases/cases.txt" ]; then
  echo "skipped: there are no conformance cases in $cases"
  exit 77
fi
output=$("$program" "$@" "$cases" 2>&1)
status=$?
echo "$output"
if [ "$(echo "$output" | tail -n 1)" != "$wanted" ]; then
  echo "check_conformance: the last line should be: $wanted"
  exit 1
fi
exit $status

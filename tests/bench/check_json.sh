#!/bin/sh
# check_json.sh - has Python's parser read what sdpa-bench --json prints
#
# SPDX-License-Identifier: BSD-3-Clause
#
# check_json.sh PROGRAM PYTHON
# Three problems, of which the last is not served, and the peak: every line must be an object.
program=$1
python=$2
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
"$program" --json --threads 1 --seconds 0.1 --problem f32:b2:h4/2:q5:k7:d8/4:causal-br:lens:lse \
  --problem f64:h1:q64:k64:d64 --problem q=f64,k=bf16:q2:k2:d2 >"$scratch/out" 2>"$scratch/err"
status=$?
"$program" --json --peak >>"$scratch/out" 2>>"$scratch/err" || status=peak
if [ "$status" != 1 ] || [ "$(wc -l <"$scratch/out")" -ne 4 ]; then
  echo "exit status $status, expected 1 and then 0; output:"
  cat "$scratch/out" "$scratch/err"
  exit 1
fi
while read -r line; do
  echo "$line" | "$python" -m json.tool --no-ensure-ascii || exit 1
done <"$scratch/out"

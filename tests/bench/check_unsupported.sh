#!/bin/sh
# check_unsupported.sh - demands that sdpa-bench says why it cannot measure a problem
#
# SPDX-License-Identifier: BSD-3-Clause
#
# check_unsupported.sh PROGRAM ARGUMENT...
# Without --json: exit 1 and a sentence on stderr that begins with the program's name. With it: also a line
# on stdout with the keys problem and error, that sentence in it, and the next problem measured all the same.
program=$1
shift
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT

fail() {
  echo "$1; exit status $status; stdout:"
  cat "$scratch/out"
  echo "stderr:"
  cat "$scratch/err"
  exit 1
}

"$program" "$@" >"$scratch/out" 2>"$scratch/err"
status=$?
[ $status -eq 1 ] || fail "exit status 1 is expected"
[ "$(grep -c '^sdpa-bench: [^ ]*: .' "$scratch/err")" -eq 1 ] || fail "one sentence is expected"
sentence=$(sed -n 's/^sdpa-bench: [^ ]*: //p' "$scratch/err")

"$program" "$@" --json >"$scratch/out" 2>"$scratch/err"
status=$?
[ $status -eq 1 ] || fail "exit status 1 is expected with --json, too"
[ "$(wc -l <"$scratch/out")" -eq 1 ] || fail "one line is expected"
grep -qF "\"error\": \"$sentence\"}" "$scratch/out" || fail "the same sentence is expected"

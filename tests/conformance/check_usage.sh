#!/bin/sh
# check_usage.sh - demands that a program rejects its arguments, or answers --help
#
# SPDX-License-Identifier: BSD-3-Clause
#
# check_usage.sh PROGRAM [ARGUMENT...]
# With --help as the only argument: exit 0, "usage: " on stdout, nothing on stderr. With anything else: exit
# 2, nothing on stdout, exactly one line on stderr that begins with "usage: ", alone or after a sentence
# that begins with the program's name.
program=$1
shift
name=$(basename "$program")
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
"$program" "$@" >"$scratch/out" 2>"$scratch/err"
status=$?

fail() {
  echo "$name $*: exit status $status; stdout:"
  cat "$scratch/out"
  echo "stderr:"
  cat "$scratch/err"
  exit 1
}

if [ "$*" = "--help" ]; then
  [ $status -eq 0 ] && [ ! -s "$scratch/err" ] && grep -q "^usage: $name" "$scratch/out" || fail "$@"
  exit 0
fi
[ $status -eq 2 ] && [ ! -s "$scratch/out" ] || fail "$@"
[ "$(grep -c "^usage: $name" "$scratch/err")" -eq 1 ] || fail "$@"
[ "$(grep -vc -e "^usage: $name" -e "^$name: " "$scratch/err")" -eq 0 ] || fail "$@"

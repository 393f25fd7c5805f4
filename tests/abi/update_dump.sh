#!/bin/sh
# update_dump.sh [COMPILER]: writes the ABI dump of this source tree for the compiler's
# architecture. After additions only, before a release: check_dump.sh, which compares with the dump
# that was, must pass first.
set -eu
folder=$(cd "$(dirname "$0")" && pwd)
. "$folder/dump_lib.sh"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
dump_abi "${1:-cc}" "$folder/../.." "$work/dump"
cp "$work/dump/abi" "$folder/$(dump_of "${1:-cc}")"

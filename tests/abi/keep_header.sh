#!/bin/sh
# keep_header.sh [HEADER]: prints the public header as tests/abi keeps that of each version: without
# comments, for programs of that version that meet later libraries. HEADER defaults to today's. Once
# a version's header is final:
#     tests/abi/keep_header.sh >tests/abi/sdpa_0_4.h
set -eu
own=$(dirname "$0")/../../include/sdpa/sdpa.h
header=${1:-$own}
number() {
  sed -n "s/^#define SDPA_VERSION_$1 //p" "$header"
}
name=sdpa_$(number MAJOR)_$(number MINOR).h
cat <<EOF
/* $name - the public header of $(number MAJOR).$(number MINOR), without its comments
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * What programs of that version were compiled against. Written by keep_header.sh, never edited.
 */
EOF
# The second definition of a macro in an #else is a warning to a
# preprocessor that passes #if through.
cpp -P -fpreprocessed -dD -w "$header" | clang-format --style=file --assume-filename="$own"

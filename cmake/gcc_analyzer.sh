#!/bin/sh
# The compiler's command in "$@", with GCC's analyzer. What is off, by what GCC 12 says without reason:
#   use-of-uninitialized-value  of unions that memcpy() filled and arrays that a loop filled; clang-tidy and
#                               memcheck look for the same
#   null-argument, null-dereference
#                               in engines and masks: sdpai_at() leaves NULL as it is, for tensors without elements,
#                               and the analyzer then reads elements of them, which no loop does
#   malloc-leak                 in bench_args.c: of a copy whose address is in an array from realloc()
#   shift-count-overflow        takes the lanes of a vector for the bits of one
# The explosion factor (5 by default) bounds the paths followed: with 1 engine_tiled.c takes half a minute,
# with 5 more than three, and reports nothing else.
source=
for word in "$@"; do
  case $word in *.c) source=$word ;; esac
done
off="-Wno-analyzer-use-of-uninitialized-value -Wno-analyzer-shift-count-overflow"
case $source in
  */bench/bench_args.c) off="$off -Wno-analyzer-malloc-leak" ;;
  */src/engines/* | */src/problem/mask.c) off="$off -Wno-analyzer-null-argument -Wno-analyzer-null-dereference" ;;
esac
# shellcheck disable=SC2086 # the flags are words
exec "$@" -fanalyzer --param=analyzer-bb-explosion-factor=1 $off

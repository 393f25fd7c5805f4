# Report D6: a later library, with a field more at the end of each struct and a function more, under
# programs of today; and programs of that later day under today's library.
. "$(dirname "$0")/../install/install_lib.sh"
needs_kind shared
program=$SDPA_SOURCE/tests/abi/versioned_program.c
libdir=$(dirname "$(dirname "$(find "$SDPA_STAGE" -name sdpa.pc)")")
grown=$SDPA_WORK/grown
status_ok=0
status_struct_size=10

# The grown library. Each edit must take.
copy_source "$grown"
header=$grown/include/sdpa/sdpa.h
for struct in problem options args; do
  sed -i "s/^} sdpa_$struct;/  int64_t grown;\n} sdpa_$struct;/" "$header"
done
sed -i 's/^SDPA_API int32_t sdpa_version(void);/&\nSDPA_API int32_t sdpa_grown(void);/' "$header"
printf '\nSDPA_9.9 {\n  global:\n    sdpa_grown;\n} SDPA_0.4;\n' >>"$grown/src/libsdpa.map"
printf '\nint32_t sdpa_grown(void) {\n  return 1;\n}\n' >>"$grown/src/api/status_api.c"
test "$(grep -c 'grown' "$header")" = 4 || fail "the header was not edited as meant"
run configure_library "$grown" "$SDPA_WORK/build" -DSDPA_BUILD_STATIC=OFF -DSDPA_INSTALL=OFF
run "$SDPA_CMAKE" --build "$SDPA_WORK/build"
grown_libdir=$SDPA_WORK/build/src
for library in "$libdir" "$grown_libdir"; do
  readelf -d "$library/libsdpa.so" | grep -qF 'soname: [libsdpa.so.0]' ||
    fail "the SONAME of $library changed"
done

# build NAME INCLUDE LIBDIR FLAGS...: without a search path,
# so that each run says which library it means.
build() {
  build_name=$1
  build_include=$2
  build_libdir=$3
  shift 3
  # shellcheck disable=SC2086
  run "$SDPA_CC" $SDPA_FLAGS -O1 -Wall -Wextra -Werror "-I$build_include" "$@" "$program" \
    -o "$SDPA_WORK/$build_name" "-L$build_libdir" -lsdpa -lm
}

# expect STATUS WHICH PROGRAM LIBDIR
expect() {
  run env LD_LIBRARY_PATH="$4" "$SDPA_WORK/$3"
  says "status $1 from the $2 library"
}

build old "$SDPA_STAGE/include" "$libdir"
expect $status_ok present old "$libdir"
expect $status_ok grown old "$grown_libdir"

build new "$grown/include" "$grown_libdir"
expect $status_ok grown new "$grown_libdir"
expect $status_ok present new "$libdir"
for struct in problem options args; do
  build "new_$struct" "$grown/include" "$grown_libdir" "-DGROWN_FIELD=$struct"
  expect $status_ok grown "new_$struct" "$grown_libdir"
  expect $status_struct_size present "new_$struct" "$libdir"
done

# A program that needs the new function does not start under the old library, and learns why.
build new_function "$grown/include" "$grown_libdir" -DGROWN_FUNCTION
expect $status_ok grown new_function "$grown_libdir"
refused "version \`SDPA_9.9' not found" env LD_LIBRARY_PATH="$libdir" "$SDPA_WORK/new_function"

# check_subproject.sh HOW: libsdpa inside a parent project, from folders with spaces in their names
# (report D9). The parent's cache, variables, targets, tests and install stay its own.
. "$(dirname "$0")/install_lib.sh"
how=$1
parent="$SDPA_WORK/a parent"
library="$SDPA_WORK/lib sdpa/the sources"
build="$SDPA_WORK/build tree"
copy_source "$library"
mkdir -p "$parent/include/sdpa" "$parent/cmake" "$parent/src"
cp "$SDPA_SOURCE/tests/install/parent/CMakeLists.txt" "$parent/"
printf '#error "the header of the parent"\n' >"$parent/include/sdpa/sdpa.h"
for module in "$library"/cmake/*.cmake; do
  printf 'message(FATAL_ERROR "a module of the parent")\n' >"$parent/cmake/$(basename "$module")"
done

# configure HOW [-D...]
configure() {
  configure_how=$1
  shift
  test "$configure_how" = none || set -- "-DSDPA_WITH_BLAS=$SDPA_WITH_BLAS" "$@"
  "$SDPA_CMAKE" -S "$parent" -B "$build" -G "$SDPA_GENERATOR" \
    -DCMAKE_C_COMPILER="$SDPA_CC" -DHOW="$configure_how" -DSDPA_AT="$library" \
    -DCONSUMER_SOURCE="$SDPA_SOURCE/tests/install/consumer/consumer.c" "$@"
}

cache_names() {
  sed -n 's/^\([A-Za-z_][^:=]*\):[A-Z]*=.*/\1/p' "$1" | sort
}

run configure none
cp "$build/CMakeCache.txt" "$SDPA_WORK/before.txt"
rm -rf "$build"
run configure "$how"
cp "$log" "$SDPA_WORK/configured.txt"
cp "$build/CMakeCache.txt" "$SDPA_WORK/after.txt"

# Cache entries. project(sdpa) itself makes sdpa_SOURCE_DIR and its like;
# FetchContent notes what it fetched.
cache_names "$SDPA_WORK/before.txt" >"$SDPA_WORK/names_before.txt"
cache_names "$SDPA_WORK/after.txt" >"$SDPA_WORK/names_after.txt"
test "$(wc -l <"$SDPA_WORK/names_before.txt")" -gt 20 || fail "the cache was not read"
comm -13 "$SDPA_WORK/names_before.txt" "$SDPA_WORK/names_after.txt" >"$SDPA_WORK/names_new.txt"
grep -q '^SDPA_BUILD_SHARED$' "$SDPA_WORK/names_new.txt" || fail "the library's options are missing"
if grep -vE -e '^SDPA_|^sdpa_(SOURCE_DIR|BINARY_DIR|IS_TOP_LEVEL)$' \
  -e '^FETCHCONTENT_[A-Z_]*_SDPA(-ADVANCED)?$' "$SDPA_WORK/names_new.txt" >&2; then
  fail "the cache entries above are new in the parent's cache"
fi
# CMake itself counts the folders that have a CMakeLists.txt.
grep -E '^[A-Za-z_][^:=]*:' "$SDPA_WORK/before.txt" |
  grep -vE '^(HOW|CMAKE_NUMBER_OF_MAKEFILES):' >"$SDPA_WORK/lines_before.txt"
if grep -vxFf "$SDPA_WORK/after.txt" "$SDPA_WORK/lines_before.txt" >&2; then
  fail "the cache entries above were changed"
fi

# Targets and tests.
sed -n 's/^-- has target //p' "$SDPA_WORK/configured.txt" >"$SDPA_WORK/targets.txt"
grep -qx sdpa_shared "$SDPA_WORK/targets.txt" || fail "sdpa_shared is missing"
if grep -v '^sdpa' "$SDPA_WORK/targets.txt" >&2; then
  fail "the targets above are in the parent's way"
fi
if grep -E 'test|bench|lesson|cmocka|support' "$SDPA_WORK/targets.txt" >&2; then
  fail "more than the library is built"
fi
if grep 'has test' "$SDPA_WORK/configured.txt" >&2; then
  fail "the library's tests are in the parent"
fi

# A second configure finds everything again.
run configure "$how"
run "$SDPA_CMAKE" --build "$build"
for kind in sdpa shared static; do
  run "$build/app_$kind"
  says "$SDPA_VERSION ok"
done
needed "$build/app_sdpa" | grep -qx 'libsdpa\.so\.0' || fail "sdpa::sdpa is not the shared library"
if needed "$build/app_static" | grep libsdpa >&2; then fail "sdpa::static is not the archive"; fi

# The parent's install is its own, until it asks for the library's.
run "$SDPA_CMAKE" --install "$build" --prefix "$SDPA_WORK/prefix q"
(cd "$SDPA_WORK/prefix q" && find . -type f) >"$SDPA_WORK/installed.txt"
grep -q app_sdpa "$SDPA_WORK/installed.txt" || fail "the parent's own install is missing"
if grep -v '^./bin/app_' "$SDPA_WORK/installed.txt" >&2; then
  fail "the parent installs the library"
fi
run configure "$how" -DSDPA_INSTALL=ON
run "$SDPA_CMAKE" --build "$build"
run "$SDPA_CMAKE" --install "$build" --prefix "$SDPA_WORK/prefix q"
prefix="$SDPA_WORK/prefix q"
SDPA_FLAGS=""
run configure_consumer "$SDPA_WORK/consumer" "-DREQUEST=REQUIRED" -DLINK=sdpa::sdpa
says "from $prefix/"
build_and_run "$SDPA_WORK/consumer"

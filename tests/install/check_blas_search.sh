# check_blas_search.sh CASE: how the build finds its CBLAS (report C12).
# ctest sets SDPA_BLAS_LIBRARY and SDPA_CBLAS_INCLUDE, the BLAS of this build, and SDPA_BLAS_VENDOR.
. "$(dirname "$0")/install_lib.sh"
needs_blas
build=$SDPA_WORK/build
fake=$SDPA_WORK/fake
case $1 in
header_in_subfolder | vendor | fake)
  test "$SDPA_BLAS_VENDOR" = OpenBLAS || skip "this build's BLAS is not OpenBLAS"
  ;;
esac

# A BLAS with the Fortran interface alone, under the name given.
make_fake() {
  mkdir -p "$fake"
  printf 'void sgemm_(void);\nvoid sgemm_(void) {}\n' >"$SDPA_WORK/fake.c"
  run "$SDPA_CC" -shared -fPIC "$SDPA_WORK/fake.c" -o "$fake/lib$1.so"
}

case $1 in
header_in_subfolder)
  # cblas.h only in include/openblas of a private prefix.
  mkdir -p "$SDPA_WORK/own/include/openblas" "$SDPA_WORK/own/lib"
  for header in cblas.h openblas_config.h; do
    test ! -f "$SDPA_CBLAS_INCLUDE/$header" ||
      cp -L "$SDPA_CBLAS_INCLUDE/$header" "$SDPA_WORK/own/include/openblas/"
  done
  ln -s "$SDPA_BLAS_LIBRARY" "$SDPA_WORK/own/lib/libopenblas.so"
  run configure_library "$SDPA_SOURCE" "$build" -DCMAKE_PREFIX_PATH="$SDPA_WORK/own" \
    -DSDPA_BUILD_STATIC=OFF
  grep -qxF "SDPA_CBLAS_INCLUDE_DIR:PATH=$SDPA_WORK/own/include/openblas" "$build/CMakeCache.txt" ||
    fail "$(grep SDPA_CBLAS_INCLUDE_DIR "$build/CMakeCache.txt")"
  says "Found BLAS: $SDPA_WORK/own/lib/libopenblas.so"
  run "$SDPA_CMAKE" --build "$build"
  ;;
fake)
  # The first BLAS on the path has no C interface: refused at configure,
  # by the name of what it lacks.
  for name in blas openblas; do
    make_fake $name
    vendor=OpenBLAS
    test $name = openblas || vendor=Generic
    refused "does not offer cblas_sgemm" \
      configure_library "$SDPA_SOURCE" "$build" -DBLA_VENDOR=$vendor -DCMAKE_LIBRARY_PATH="$fake"
    says "$fake/lib$name.so"
    rm -rf "$build" "$fake"
  done
  # The refusal is not remembered: the same build folder takes another BLAS.
  make_fake blas
  refused "does not offer cblas_sgemm" \
    configure_library "$SDPA_SOURCE" "$build" -DBLA_VENDOR=Generic -DCMAKE_LIBRARY_PATH="$fake"
  run configure_library "$SDPA_SOURCE" "$build" -DBLA_VENDOR=OpenBLAS
  ;;
vendor)
  # The vendor asked for, though another BLAS comes first.
  make_fake blas
  run configure_library "$SDPA_SOURCE" "$build" -DBLA_VENDOR=OpenBLAS \
    -DCMAKE_LIBRARY_PATH="$fake" -DSDPA_BUILD_STATIC=OFF
  run "$SDPA_CMAKE" --build "$build"
  run ldd "$build/src/libsdpa.so"
  says "libopenblas"
  never_says "$fake"
  ;;
none)
  refused "No BLAS was found" configure_library "$SDPA_SOURCE" "$build" \
    -DCMAKE_FIND_ROOT_PATH="$SDPA_WORK" -DCMAKE_FIND_ROOT_PATH_MODE_LIBRARY=ONLY
  says "set BLA_VENDOR"
  says "set CMAKE_PREFIX_PATH"
  says "libopenblas-dev"
  ;;
*) fail "unknown case $1" ;;
esac

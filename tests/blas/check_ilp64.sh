# check_ilp64.sh CASE: the BLAS libraries of 64-bit integers that are installed.
. "$(dirname "$0")/blas_lib.sh"

case $1 in
refused)
  found=0
  for library in openblas64-pthread/libopenblas64.so openblas64-openmp/libopenblas64.so \
    openblas64-serial/libopenblas64.so blas64/libblas64.so blis64-serial/libblis64.so; do
    test -f "$blas_folders/$library" || continue
    found=1
    # Their own header is not named: this build's, which says int,
    # must not hide what the library is.
    refused "(ILP64)" configure_library "$SDPA_SOURCE" "$SDPA_WORK/build" \
      -DBLAS_LIBRARIES="$blas_folders/$library"
    rm -rf "$SDPA_WORK/build"
  done
  test $found = 1 || skip "no BLAS of 64-bit integers is installed in $blas_folders"
  ;;
loaded)
  # OpenBLAS has one SONAME for both, if it is built without a suffix; Debian's has two,
  # so a link stands in.
  tests=$SDPA_BUILD/tests
  test -f "$blas_folders/openblas64-pthread/libopenblas64.so.0" ||
    skip "openblas64-pthread is not installed"
  ln -s "$blas_folders/openblas64-pthread/libopenblas64.so.0" "$SDPA_WORK/libopenblas.so.0"
  LD_LIBRARY_PATH=$SDPA_WORK
  export LD_LIBRARY_PATH
  is_loaded "$tests" "$blas_folders/openblas64-pthread"
  says "; engines tiled; threads"
  says "engine blas cannot be used: the BLAS of this process has 64-bit integers"
  # Every problem by the engine that is left, the weights that auto would leave to blas among them.
  run_one "$tests/property/test_random_problems"
  run_one "$tests/property/test_random_gradients"
  ;;
*) fail "unknown case $1" ;;
esac

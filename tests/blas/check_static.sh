# check_static.sh: library and tests with an OpenBLAS that is linked into the program itself, where the
# order of constructors, and with it that of the handlers of fork(), is another.
. "$(dirname "$0")/blas_lib.sh"
build=$SDPA_WORK/build
archive=$blas_folders/libopenblas.a
test -f "$archive" || skip "$archive is not installed"

run configure_library "$SDPA_SOURCE" "$build" -DBLAS_LIBRARIES="$archive;-lpthread;-lm" \
  -DSDPA_BUILD_TESTS=ON -DSDPA_SHARED_DIR="$SDPA_SHARED_DIR"
run "$SDPA_CMAKE" --build "$build" --parallel 2 \
  --target sdpa_test_blas_callers sdpa_test_random_problems
if needed "$build/tests/threads/test_blas_callers" | grep blas; then
  fail "the BLAS is not linked statically"
fi
for threads in 1 2 8; do
  OPENBLAS_NUM_THREADS=$threads
  export OPENBLAS_NUM_THREADS
  run_one "$build/tests/threads/test_blas_callers"
done
run_one "$build/tests/property/test_random_problems"

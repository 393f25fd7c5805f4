# check_vendor.sh VENDOR NAME: library and tests built for another CBLAS, which is lib<NAME>.so in a
# folder of that name or, for BLIS, in one for each way that it was built.
. "$(dirname "$0")/blas_lib.sh"
build=$SDPA_WORK/build
tests=$build/tests
folder=$blas_folders/$2
test "$2" != blis || folder=$blas_folders/blis-serial
test -f "$folder/lib$2.so" || skip "$folder/lib$2.so is not installed"

run configure_library "$SDPA_SOURCE" "$build" -DBLA_VENDOR="$1" -DCMAKE_LIBRARY_PATH="$folder" \
  -DSDPA_BUILD_TESTS=ON -DSDPA_SHARED_DIR="$SDPA_SHARED_DIR"
says "Found BLAS: $folder/lib$2.so"
# shellcheck disable=SC2086 # a list
run "$SDPA_CMAKE" --build "$build" --parallel 2 --target $subset_targets
is_loaded "$tests" "$folder"
says "it does not tell its name or threads"
run_subset "$tests"
for id in C6 C7; do run_one "$tests/reports/test_reports" "test_${id}_*"; done

test "$2" = blis || exit 0
for way in openmp pthread; do
  if [ -f "$blas_folders/blis-$way/libblis.so.4" ]; then
    LD_LIBRARY_PATH=$blas_folders/blis-$way BLIS_NUM_THREADS=2
    export LD_LIBRARY_PATH BLIS_NUM_THREADS
    is_loaded "$tests" "$LD_LIBRARY_PATH"
    # BLIS's threads spin at its barriers, which takes its time where CPUs are few;
    # on OpenMP they hang after a fork.
    SDPA_PROPERTY_COUNT=15 run timeout 300 "$tests/property/test_random_problems"
    BLIS_NUM_THREADS=1
    run_callers "$tests"
  else
    echo "blis-$way is not installed"
  fi
done

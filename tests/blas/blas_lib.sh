# What the scripts of this folder share; they source it. See ../install/install_lib.sh for the rest.
. "$(dirname "$0")/../install/install_lib.sh"

# Where Debian keeps every BLAS in a folder of its own.
blas_folders=$(dirname "$SDPA_BLAS_LIBRARY")

# The threads of an OpenMP BLAS would spin against one another.
OMP_WAIT_POLICY=passive
export OMP_WAIT_POLICY

# is_loaded TESTS FOLDER: programs in TESTS get their cblas_sgemm from a file of FOLDER.
is_loaded() {
  run "$1/blas/which_blas"
  says "$(cd "$2" && pwd -P)/"
}

# run_one PROGRAM [ARGUMENT...]: quickly, and with the output of a failure.
run_one() {
  SDPA_PROPERTY_COUNT=60 run timeout 500 "$@"
}

# run_subset TESTS: the quick ones of the test programs in TESTS that use engine blas.
run_subset() {
  run_numbers "$1"
  run_callers "$1"
}

run_numbers() {
  for name in random_problems random_gradients nonfinite nonfinite_gradients excluded_positions \
    equal_problems; do
    run_one "$1/property/test_$name"
  done
  cases=$SDPA_SHARED_DIR/conformance/onnx-attention
  test ! -f "$cases/cases.txt" || run_one "$1/sdpa-conformance" --engine blas "$cases"
}

# Threads and forks. What has products of its own, beside the library's, is not run on a BLAS that
# bears one caller at a time.
run_callers() {
  run_one "$1/threads/test_blas_callers"
  run_one "$1/threads/test_application"
  "$1/blas/which_blas" | grep -q SINGLE_THREADED || run_one "$1/threads/test_beside_blas"
  for id in C1 C2 C3; do run_one "$1/reports/test_reports" "test_${id}_*"; done
}
subset_targets="sdpa_test_random_problems sdpa_test_random_gradients sdpa_test_nonfinite
  sdpa_test_nonfinite_gradients sdpa_test_excluded_positions sdpa_test_equal_problems
  sdpa_test_blas_callers sdpa_test_application sdpa_test_beside_blas sdpa_test_reports
  sdpa_conformance sdpa_which_blas"

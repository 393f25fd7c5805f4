# check_openblas.sh FLAVOUR THREADS SHIM: this build's test programs with another build of OpenBLAS.
. "$(dirname "$0")/blas_lib.sh"
tests=$SDPA_BUILD/tests
flavour=$blas_folders/openblas-$1
test -x "$tests/blas/which_blas" ||
  skip "the test programs are not where a single-configuration build has them"
test -f "$flavour/libopenblas.so.0" || skip "$flavour/libopenblas.so.0 is not installed"
needed "$tests/blas/which_blas" | grep -qx 'libopenblas\.so\.0' ||
  skip "this build does not load libopenblas.so.0"

threads=$2
text=MAX_THREADS=
case $1 in
openmp) text=USE_OPENMP ;;
serial) threads=1 text=SINGLE_THREADED ;;
esac
LD_LIBRARY_PATH=$flavour LD_PRELOAD=$3
SDPA_BLAS_THREADS=$2 OMP_NUM_THREADS=$2 OPENBLAS_NUM_THREADS=$2
export LD_LIBRARY_PATH SDPA_BLAS_THREADS OMP_NUM_THREADS OPENBLAS_NUM_THREADS LD_PRELOAD
is_loaded "$tests" "$flavour"
says "$text"
grep -q "threads $threads\$" "$log" || fail "$(cat "$log")"
run_subset "$tests"

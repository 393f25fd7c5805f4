# check_blas_integers.sh CASE: a BLAS of 64-bit integers (ILP64) is refused at configure time, by
# each of the signs that it may give. The BLAS here is made for the purpose
# and gives no more than one.
. "$(dirname "$0")/install_lib.sh"
needs_blas
build=$SDPA_WORK/build
fake=$SDPA_WORK/fake
mkdir -p "$fake"

# make_fake HEADER_INTEGER LIBRARY_INTEGER [SUFFIX [TEXT]]: a CBLAS that declares one type of
# integer and reads another.
make_fake() {
  cat >"$fake/cblas.h" <<END
void cblas_sgemm(void);
void cblas_dgemm(void);
float cblas_sdot(const $1 n, const float *x, const $1 incx, const float *y, const $1 incy);
char *openblas_get_config(void);
END
  says_of_itself=
  test -z "${4-}" || says_of_itself="char *openblas_get_config(void) { return \"$4\"; }"
  cat >"$SDPA_WORK/fake.c" <<END
void sgemm_(void) {}
void cblas_sgemm${3-}(void) {}
void cblas_dgemm${3-}(void) {}
$says_of_itself
float cblas_sdot($2 n, const float *x, $2 incx, const float *y, $2 incy) {
  return n > 0 && incx && incy ? *x * *y : 0;
}
void scopy_(const $2 *n, const float *x, const $2 *incx, float *y, const $2 *incy) {
  if (*n > 0 && *incx == 1 && *incy == 1) *y = *x;
}
END
  run "$SDPA_CC" -shared -fPIC "$SDPA_WORK/fake.c" -o "$fake/libblas.so"
}

configure() {
  configure_library "$SDPA_SOURCE" "$build" -DBLA_VENDOR=Generic -DCMAKE_LIBRARY_PATH="$fake" \
    -DSDPA_CBLAS_INCLUDE_DIR="$fake" "$@"
}

# refused_as TEXT: by that sign, with what to do;
# and the same folder then takes one that counts in int.
refused_as() {
  refused "(ILP64): $1" configure
  says "SDPA_WITH_BLAS=OFF"
  make_fake int int
  run configure
}

case $1 in
header) make_fake 'long long' int && refused_as "so says $fake/cblas.h" ;;
suffix) make_fake int int 64_ && refused_as "$fake/libblas.so offers cblas_sgemm64_" ;;
text)
  make_fake int int '' 'OpenBLAS 0.3.99 USE64BITINT DYNAMIC_ARCH'
  refused_as "so says $fake/libblas.so"
  ;;
run) make_fake int 'long long' && refused_as "scopy_ of $fake/libblas.so reads them so" ;;
asked)
  make_fake int int
  refused "(ILP64): BLA_SIZEOF_INTEGER is 8" configure -DBLA_SIZEOF_INTEGER=8
  run configure -DBLA_SIZEOF_INTEGER=4
  ;;
*) fail "unknown case $1" ;;
esac

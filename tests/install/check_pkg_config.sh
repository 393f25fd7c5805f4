# check_pkg_config.sh CASE: consumers of the staged install that know pkg-config, or only cc.
. "$(dirname "$0")/install_lib.sh"
pc=${SDPA_PKG_CONFIG:-}
program=$SDPA_WORK/consumer
source=$SDPA_SOURCE/tests/install/consumer/consumer.c
pcdir=$(dirname "$(find "$SDPA_STAGE" -name sdpa.pc)")
libdir=$(dirname "$pcdir")
export PKG_CONFIG_PATH="$pcdir"
if [ "$1" != plain_cc ]; then
  test -n "$pc" || skip "there is no pkg-config"
fi

# Nothing is added by hand to what pkg-config says.
# shellcheck disable=SC2086 # flags are words
compile() {
  run "$SDPA_CC" $SDPA_FLAGS "$source" -o "$program" "$@"
}

run_consumer() {
  LD_LIBRARY_PATH="$libdir"
  export LD_LIBRARY_PATH
  run "$program"
  says "$SDPA_VERSION ok"
  unset LD_LIBRARY_PATH
}

# What remains of --libs without the search paths.
names() {
  for word in $("$pc" "$@" sdpa); do
    case $word in
    -L*) ;;
    *) printf '%s ' "$word" ;;
    esac
  done
}

case $1 in
shared)
  needs_kind shared
  test "$(names --libs)" = "-lsdpa " || fail "--libs names '$(names --libs)'"
  # Also where the BLAS's own .pc file is absent.
  PKG_CONFIG_LIBDIR="$pcdir"
  export PKG_CONFIG_LIBDIR
  run "$pc" --exists sdpa
  # shellcheck disable=SC2046
  compile $("$pc" --cflags --libs sdpa)
  run_consumer
  needed "$program" | grep -qx 'libsdpa\.so\.0' || fail "the program does not need libsdpa.so.0"
  ;;
static)
  # An executable that is dynamic but for libsdpa: the archive alone is in reach.
  needs_kind static
  mkdir "$SDPA_WORK/archive"
  cp "$libdir/libsdpa.a" "$SDPA_WORK/archive/"
  # shellcheck disable=SC2046
  compile "-L$SDPA_WORK/archive" $("$pc" --static --cflags --libs sdpa | sed "s|-L[^ ]*||g")
  run_consumer
  if needed "$program" | grep -q libsdpa; then fail "the program needs a shared libsdpa"; fi
  ;;
fully_static)
  needs_kind static
  test -z "$SDPA_FLAGS" || skip "sanitizers do not link statically"
  printf 'void cblas_sgemm(void);\nint main(void) { cblas_sgemm(); return 0; }\n' \
    >"$SDPA_WORK/blas.c"
  test "$SDPA_WITH_BLAS" = ON || printf 'int main(void) { return 0; }\n' >"$SDPA_WORK/blas.c"
  # shellcheck disable=SC2046
  "$SDPA_CC" -static "$SDPA_WORK/blas.c" -o "$SDPA_WORK/blas" \
    $(names --static --libs | sed 's/-lsdpa//') >"$log" 2>&1 ||
    skip "the BLAS or the C library does not link statically here"
  # shellcheck disable=SC2046
  compile -static $("$pc" --static --cflags --libs sdpa)
  run_consumer
  test -z "$(needed "$program")" || fail "the program is not static"
  ;;
define_prefix)
  # A prefix that the user moves by hand.
  "$pc" --define-prefix --variable=includedir sdpa >"$log"
  test "$(cd "$(cat "$log")" && pwd -P)" = "$(cd "$SDPA_STAGE/include" && pwd -P)" ||
    fail "includedir is $(cat "$log")"
  ;;
versions)
  test "$("$pc" --modversion sdpa)" = "$SDPA_VERSION" ||
    fail "--modversion says $("$pc" --modversion sdpa)"
  run "$pc" --atleast-version="$SDPA_VERSION" sdpa
  ;;
plain_cc)
  needs_kind shared
  compile "-I$SDPA_STAGE/include" "-L$libdir" -lsdpa
  run_consumer
  ;;
plain_cc_static)
  needs_kind static
  # As docs/installing.md says it, for the BLAS of this build.
  # shellcheck disable=SC2046
  compile "-I$SDPA_STAGE/include" "$libdir/libsdpa.a" \
    $(sed -n 's/^Libs.*-lsdpa//p; s/^Libs.private://p' "$pcdir/sdpa.pc")
  run_consumer
  ;;
*) fail "unknown case $1" ;;
esac

# What the packaging tests share; they source it. ctest sets
#   SDPA_CMAKE SDPA_GENERATOR SDPA_CC SDPA_CXX   the tools of this build (SDPA_CXX may be empty)
#   SDPA_SOURCE SDPA_BUILD SDPA_CONFIG           the source tree, the build tree, its configuration
#   SDPA_FLAGS                                   what a consumer of this build must compile with
#   SDPA_STAGE                                   the staged install, moved after it was installed
#   SDPA_VERSION SDPA_KINDS                      of this build; "shared static" or one of them
#   SDPA_WITH_BLAS                               of this build, ON or OFF
#   SDPA_WORK                                    a folder for this test alone
set -eu
unset CMAKE_PREFIX_PATH PKG_CONFIG_PATH PKG_CONFIG_LIBDIR DESTDIR LD_LIBRARY_PATH \
  CFLAGS CXXFLAGS LDFLAGS 2>/dev/null || :
# CMake and pkg-config speak to the test in English.
LC_ALL=C
export LC_ALL

fail() {
  printf 'FAIL: %s\n' "$*" >&2
  exit 1
}

skip() {
  printf 'SKIP: %s\n' "$*"
  exit 77
}

rm -rf "$SDPA_WORK"
mkdir -p "$SDPA_WORK"
log=$SDPA_WORK/log.txt

# run COMMAND...: must succeed; its output is shown only when it does not. It stays in $log.
run() {
  "$@" >"$log" 2>&1 || {
    status=$?
    cat "$log" >&2
    fail "exit status $status: $*"
  }
}

# says TEXT: the last command's output holds TEXT. CMake breaks lines anywhere,
# so white space is squeezed.
says() {
  tr -s ' \n' '  ' <"$log" | grep -qF -- "$1" || {
    cat "$log" >&2
    fail "the output above does not say: $1"
  }
}

never_says() {
  if tr -s ' \n' '  ' <"$log" | grep -qF -- "$1"; then
    cat "$log" >&2
    fail "the output above says: $1"
  fi
}

# refused TEXT COMMAND...: must fail and say TEXT.
refused() {
  refused_text=$1
  shift
  if "$@" >"$log" 2>&1; then
    cat "$log" >&2
    fail "accepted: $*"
  fi
  says "$refused_text"
}

needs_kind() {
  case " $SDPA_KINDS " in
  *" $1 "*) ;;
  *) skip "this build has no $1 library" ;;
  esac
}

needs_blas() {
  test "$SDPA_WITH_BLAS" = ON || skip "this build has no BLAS (SDPA_WITH_BLAS is OFF)"
}

# configure_consumer BUILD_DIR [-D...]: the consumer project against the staged install.
configure_consumer() {
  consumer_build=$1
  shift
  "$SDPA_CMAKE" -S "$SDPA_SOURCE/tests/install/consumer" -B "$consumer_build" -G "$SDPA_GENERATOR" \
    --no-warn-unused-cli -DCMAKE_C_COMPILER="$SDPA_CC" \
    ${SDPA_CXX:+-DCMAKE_CXX_COMPILER="$SDPA_CXX"} \
    -DCMAKE_C_FLAGS="$SDPA_FLAGS" -DCMAKE_CXX_FLAGS="$SDPA_FLAGS" \
    -DCMAKE_PREFIX_PATH="${prefix:-$SDPA_STAGE}" "$@"
}

# build_and_run BUILD_DIR: of a consumer that is configured.
build_and_run() {
  run "$SDPA_CMAKE" --build "$1"
  run "$1/consumer"
  says "$SDPA_VERSION ok"
}

# declared_functions FOLDER: those that FOLDER/sdpa/sdpa.h declares for users, sorted.
declared_functions() {
  printf '#include <sdpa/sdpa.h>\n' | "$SDPA_CC" "-I$1" -E -P - | tr '\n' ' ' | tr ';{}' '\n\n\n' |
    grep 'visibility("default")' | sed 's/__attribute__ *((visibility("default")))//' |
    sed 's/^[^(]*[ *]\(sdpa_[a-z0-9_]*\) *(.*/\1/' | LC_ALL=C sort
}

needed() {
  readelf -d "$1" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p'
}

# configure_library SOURCE BUILD_DIR [-D...]: the library alone, released,
# without this build's sanitizers.
configure_library() {
  library_source=$1
  library_build=$2
  shift 2
  "$SDPA_CMAKE" -S "$library_source" -B "$library_build" -G "$SDPA_GENERATOR" \
    -DCMAKE_C_COMPILER="$SDPA_CC" -DCMAKE_BUILD_TYPE=Release -DSDPA_WITH_BLAS="$SDPA_WITH_BLAS" \
    -DSDPA_BUILD_TESTS=OFF -DSDPA_BUILD_BENCH=OFF -DSDPA_BUILD_DOCS=OFF -DSDPA_BUILD_MAN=OFF "$@"
}

# copy_source FOLDER: what the library is built from, without tests and documents.
copy_source() {
  mkdir -p "$1"
  for item in CMakeLists.txt LICENSE cmake include src; do
    cp -R "$SDPA_SOURCE/$item" "$1/"
  done
}

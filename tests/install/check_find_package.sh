# check_find_package.sh CASE: find_package(sdpa) consumers of the staged install.
. "$(dirname "$0")/install_lib.sh"
build=$SDPA_WORK/build

shared_is_linked() {
  needed "$build/consumer" | grep -qx 'libsdpa\.so\.0' ||
    fail "the program does not need libsdpa.so.0"
  if needed "$build/consumer" | grep -q blas; then fail "the program itself needs a BLAS"; fi
}

static_is_linked() {
  if needed "$build/consumer" | grep -q libsdpa; then fail "the program needs a shared libsdpa"; fi
}

case $1 in
shared)
  needs_kind shared
  run configure_consumer "$build" "-DREQUEST=REQUIRED;COMPONENTS;shared" -DLINK=sdpa::shared
  says "from $SDPA_STAGE/"
  never_says "target sdpa::static"
  build_and_run "$build"
  shared_is_linked
  ;;
static)
  # Nothing but find_package and one target: BLAS, threads and libm arrive by themselves.
  needs_kind static
  run configure_consumer "$build" "-DREQUEST=CONFIG;REQUIRED;COMPONENTS;static" -DLINK=sdpa::sdpa
  says "from $SDPA_STAGE/"
  says "target sdpa::static"
  never_says "target sdpa::shared"
  build_and_run "$build"
  static_is_linked
  ;;
static_beside_ilp64)
  # The consumer's wish for a BLAS of 64-bit integers is about another than this library's.
  needs_blas
  needs_kind static
  run configure_consumer "$build" "-DREQUEST=CONFIG;REQUIRED;COMPONENTS;static" \
    -DLINK=sdpa::static -DBLA_SIZEOF_INTEGER=8
  build_and_run "$build"
  if needed "$build/consumer" | grep -q 'blas64'; then fail "$(needed "$build/consumer")"; fi
  ;;
static_without_blas)
  # A reason at configure time, not an unknown target at generate time; nothing at all if QUIET.
  needs_blas
  needs_kind static
  for hide in "-DCMAKE_DISABLE_FIND_PACKAGE_BLAS=ON" \
    "-DCMAKE_FIND_ROOT_PATH=$SDPA_WORK -DCMAKE_FIND_ROOT_PATH_MODE_LIBRARY=ONLY"; do
    # shellcheck disable=SC2086 # two options in the second case
    run configure_consumer "$build" "-DREQUEST=CONFIG;QUIET;COMPONENTS;static" \
      -DLINK=sdpa::static $hide
    says "sdpa_FOUND is false: component static needs the BLAS it was built for"
    never_says "CMake Warning"
    never_says "CMake Error"
    never_says "Looking for sgemm"
    never_says "Could NOT find"
    rm -rf "$build"
    # shellcheck disable=SC2086
    refused "component static needs the BLAS it was built for" \
      configure_consumer "$build" "-DREQUEST=CONFIG;REQUIRED;COMPONENTS;static" \
      -DLINK=sdpa::static $hide
    rm -rf "$build"
  done
  ;;
unified)
  run configure_consumer "$build" "-DREQUEST=REQUIRED" -DLINK=sdpa::sdpa
  build_and_run "$build"
  case $SDPA_KINDS in
  *shared*) shared_is_linked ;;
  *) static_is_linked ;;
  esac
  ;;
both)
  needs_kind shared
  needs_kind static
  run configure_consumer "$build" "-DREQUEST=REQUIRED;COMPONENTS;static;shared" -DLINK=sdpa::sdpa
  says "target sdpa::shared"
  says "target sdpa::static"
  build_and_run "$build"
  shared_is_linked
  ;;
without_blas)
  # Who links the shared library needs no BLAS to build, neither asked for by name nor by default.
  needs_blas
  needs_kind shared
  for request in "REQUIRED" "REQUIRED;COMPONENTS;shared" \
    "REQUIRED;COMPONENTS;shared;OPTIONAL_COMPONENTS;static"; do
    run configure_consumer "$build" "-DREQUEST=$request" -DLINK=sdpa::sdpa \
      -DCMAKE_DISABLE_FIND_PACKAGE_BLAS=ON
    never_says "target sdpa::static"
    build_and_run "$build"
    shared_is_linked
    rm -rf "$build"
  done
  ;;
unknown_component)
  refused "there is no component tiled; sdpa has shared and static" \
    configure_consumer "$build" "-DREQUEST=REQUIRED;COMPONENTS;tiled" -DLINK=sdpa::sdpa
  ;;
cxx)
  test -n "$SDPA_CXX" || skip "there is no C++ compiler"
  run configure_consumer "$build" "-DREQUEST=REQUIRED" -DLINK=sdpa::sdpa -DLANGUAGE=CXX \
    "-DC_WARNINGS=-Wall;-Wextra;-Wpedantic;-Werror"
  build_and_run "$build"
  ;;
c99)
  run configure_consumer "$build" "-DREQUEST=REQUIRED" -DLINK=sdpa::sdpa -DC_STANDARD=99 \
    "-DC_WARNINGS=-pedantic;-Wall;-Wextra;-Werror"
  build_and_run "$build"
  ;;
lto)
  needs_kind static
  run configure_consumer "$build" "-DREQUEST=REQUIRED;COMPONENTS;static" -DLINK=sdpa::static \
    "-DC_WARNINGS=-O2;-flto" -DCMAKE_EXE_LINKER_FLAGS=-flto
  build_and_run "$build"
  static_is_linked
  ;;
*) fail "unknown case $1" ;;
esac

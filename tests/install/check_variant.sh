# check_variant.sh CASE: the library configured in other ways, installed and used.
. "$(dirname "$0")/install_lib.sh"
prefix=$SDPA_WORK/prefix
pc=${SDPA_PKG_CONFIG:-}
build=$SDPA_WORK/library
source=$SDPA_SOURCE/tests/install/consumer/consumer.c

# From "first", where it was installed, to $prefix; its build and its source copy go.
move_install() {
  mv "$SDPA_WORK/first" "$prefix"
  rm -rf "$SDPA_WORK/source" "$build"
}

case $1 in
absolute)
  # Report D3: absolute folders stand in the .pc file as they were given, once, and without DESTDIR.
  run configure_library "$SDPA_SOURCE" "$build" -DCMAKE_INSTALL_PREFIX="$prefix" \
    -DCMAKE_INSTALL_LIBDIR="$prefix/lib64" -DCMAKE_INSTALL_INCLUDEDIR="$prefix/inc"
  run "$SDPA_CMAKE" --build "$build"
  run env DESTDIR="$SDPA_WORK/dest" "$SDPA_CMAKE" --install "$build"
  cmp "$SDPA_WORK/dest$prefix/lib64/pkgconfig/sdpa.pc" "$build/sdpa.pc" ||
    fail "DESTDIR changed sdpa.pc"
  if grep -rn "$SDPA_WORK/dest" "$SDPA_WORK/dest" >&2; then
    fail "an installed file names DESTDIR"
  fi
  run "$SDPA_CMAKE" --install "$build"
  SDPA_FLAGS=""
  for kind in shared static; do
    run configure_consumer "$SDPA_WORK/$kind" "-DREQUEST=REQUIRED;COMPONENTS;$kind" \
      -DLINK=sdpa::$kind -Dsdpa_DIR="$prefix/lib64/cmake/sdpa"
    says "from $prefix/lib64/"
    build_and_run "$SDPA_WORK/$kind"
  done
  test -n "$pc" || exit 0
  export PKG_CONFIG_PATH="$prefix/lib64/pkgconfig"
  test "$("$pc" --variable=libdir sdpa)" = "$prefix/lib64" ||
    fail "libdir is $("$pc" --variable=libdir sdpa)"
  test "$("$pc" --variable=includedir sdpa)" = "$prefix/inc" ||
    fail "includedir is $("$pc" --variable=includedir sdpa)"
  # shellcheck disable=SC2046
  run "$SDPA_CC" "$source" -o "$SDPA_WORK/consumer" $("$pc" --cflags --libs sdpa) \
    "-Wl,-rpath,$prefix/lib64"
  run "$SDPA_WORK/consumer"
  says "$SDPA_VERSION ok"
  ;;
static_only)
  # Reports D2 and D4, and a relative lib64 two folders deep: the unified name is the archive, and
  # the .pc file needs no --static, since there is no other link.
  # BUILD_SHARED_LIBS neither helps nor disturbs.
  copy_source "$SDPA_WORK/source"
  run configure_library "$SDPA_WORK/source" "$build" -DSDPA_BUILD_SHARED=OFF \
    -DBUILD_SHARED_LIBS=OFF -DCMAKE_INSTALL_LIBDIR=lib64/deep
  run "$SDPA_CMAKE" --build "$build"
  run "$SDPA_CMAKE" --install "$build" --prefix "$SDPA_WORK/first"
  move_install
  if find "$prefix" -name '*.so*' | grep . >&2; then fail "a shared library is installed"; fi
  SDPA_FLAGS=""
  run configure_consumer "$SDPA_WORK/consumer" "-DREQUEST=CONFIG;REQUIRED" -DLINK=sdpa::sdpa \
    -Dsdpa_DIR="$prefix/lib64/deep/cmake/sdpa"
  build_and_run "$SDPA_WORK/consumer"
  refused "component shared is not installed" configure_consumer "$SDPA_WORK/wrong" \
    "-DREQUEST=REQUIRED;COMPONENTS;shared" -DLINK=sdpa::shared \
    -Dsdpa_DIR="$prefix/lib64/deep/cmake/sdpa"
  test -n "$pc" || exit 0
  export PKG_CONFIG_PATH="$prefix/lib64/deep/pkgconfig"
  for static in "" --static; do
    # shellcheck disable=SC2046,SC2086
    run "$SDPA_CC" "$source" -o "$SDPA_WORK/program" $("$pc" $static --cflags --libs sdpa)
    run "$SDPA_WORK/program"
    says "$SDPA_VERSION ok"
  done
  ;;
shared_only)
  # Report D1: nothing of the build is left when the consumer comes, and the tree lies elsewhere.
  copy_source "$SDPA_WORK/source"
  run configure_library "$SDPA_WORK/source" "$build" -DSDPA_BUILD_STATIC=OFF \
    -DCMAKE_INSTALL_LIBDIR=lib64
  run "$SDPA_CMAKE" --build "$build"
  run "$SDPA_CMAKE" --install "$build" --prefix "$SDPA_WORK/first"
  move_install
  if find "$prefix" -name '*.a' | grep . >&2; then fail "an archive is installed"; fi
  SDPA_FLAGS=""
  # Debian's CMake does not look into lib64 by itself.
  run configure_consumer "$SDPA_WORK/consumer" "-DREQUEST=REQUIRED" -DLINK=sdpa::sdpa \
    -Dsdpa_DIR="$prefix/lib64/cmake/sdpa"
  build_and_run "$SDPA_WORK/consumer"
  refused "component static is not installed" \
    configure_consumer "$SDPA_WORK/wrong" "-DREQUEST=REQUIRED;COMPONENTS;static" \
    -DLINK=sdpa::static -Dsdpa_DIR="$prefix/lib64/cmake/sdpa"
  ;;
tools)
  # The programs on the shared library alone: they find it beside them, wherever the tree lies, and
  # with CMAKE_SKIP_INSTALL_RPATH, which packages for the system's folders set,
  # they have no search path.
  programs="-DSDPA_BUILD_STATIC=OFF -DSDPA_BUILD_BENCH=ON -DSDPA_BUILD_DOCS=ON"
  # shellcheck disable=SC2086 # three options
  run configure_library "$SDPA_SOURCE" "$build" $programs -DCMAKE_INSTALL_LIBDIR=lib64/deep
  run "$SDPA_CMAKE" --build "$build" --target sdpa_bench sdpa_lesson sdpa_shared
  for component in runtime tools; do
    run "$SDPA_CMAKE" --install "$build" --component $component --prefix "$SDPA_WORK/first"
  done
  mv "$SDPA_WORK/first" "$prefix"
  for program in sdpa-bench sdpa-lesson; do
    needed "$prefix/bin/$program" | grep -qx 'libsdpa\.so\.0' ||
      fail "$program does not use the shared library"
    run ldd "$prefix/bin/$program"
    says "libsdpa.so.0 => $prefix/"
    run "$prefix/bin/$program" --help
    says "usage: $program"
  done
  run "$prefix/bin/sdpa-bench" --accuracy --problem f32:q3:k3:d4
  # shellcheck disable=SC2086
  run configure_library "$SDPA_SOURCE" "$build" $programs -DCMAKE_SKIP_INSTALL_RPATH=ON
  run "$SDPA_CMAKE" --install "$build" --component tools --prefix "$SDPA_WORK/system"
  if readelf -d "$SDPA_WORK/system/bin/sdpa-bench" | grep -E 'RPATH|RUNPATH' >&2; then
    fail "a search path is left"
  fi
  ;;
lto)
  # The library built with link-time optimisation: kernels and CPU detection stay out of it, so that
  # no instruction of a better CPU gets into code that every CPU runs.
  run configure_library "$SDPA_SOURCE" "$build" -DCMAKE_INTERPROCEDURAL_OPTIMIZATION=ON
  run "$SDPA_CMAKE" --build "$build"
  objects=$build/src/CMakeFiles/sdpa_objects.dir
  test -d "$objects" || skip "this generator's object folder is not known"
  readelf -SW "$objects/engines/engine_table.c.o" | grep -q 'gnu\.lto' ||
    skip "the compiler did not optimise at link time"
  for object in "$objects"/kernels/*/*.o "$objects"/runtime/cpu_features.c.o; do
    if readelf -SW "$object" | grep -q 'gnu\.lto'; then
      fail "$object takes part in link-time optimisation"
    fi
  done
  # shellcheck disable=SC2097,SC2098 # the arguments are meant to have the old value
  SDPA_WORK=$SDPA_WORK/isa sh "$SDPA_SOURCE/tests/abi/check_isa_code.sh" \
    "$build/src/libsdpa.so" "$objects"
  run "$SDPA_CMAKE" --install "$build" --prefix "$prefix"
  SDPA_FLAGS=""
  # A consumer that optimises at link time too, and one that does not.
  for flag in -flto -fno-lto; do
    for kind in shared static; do
      run configure_consumer "$SDPA_WORK/$kind$flag" "-DREQUEST=REQUIRED;COMPONENTS;$kind" \
        -DLINK=sdpa::$kind "-DC_WARNINGS=-O2;$flag" -DCMAKE_EXE_LINKER_FLAGS=$flag
      build_and_run "$SDPA_WORK/$kind$flag"
    done
  done
  # shellcheck disable=SC2097,SC2098 # the arguments are meant to have the old value
  SDPA_WORK=$SDPA_WORK/isa sh "$SDPA_SOURCE/tests/abi/check_isa_code.sh" \
    "$SDPA_WORK/static-flto/consumer" "$objects"
  ;;
warnings)
  # Report D12: an unusual set of warnings does not break the build, for nothing makes them errors.
  for compiler in "$SDPA_CC" "$(command -v clang || :)"; do
    test -n "$compiler" || continue
    build=$SDPA_WORK/$(basename "$compiler")
    run configure_library "$SDPA_SOURCE" "$build" -DCMAKE_C_COMPILER="$compiler" \
      -DCMAKE_EXPORT_COMPILE_COMMANDS=ON \
      -DCMAKE_C_FLAGS="-Wconversion -Wshadow -Wpadded -Wdeclaration-after-statement"
    run "$SDPA_CMAKE" --build "$build"
    says "warning:"
    grep -q Wpadded "$build/compile_commands.json" || fail "the flags did not arrive"
    if grep -o -e '-Werror[^ ]*' "$build/compile_commands.json" >&2; then
      fail "warnings are errors by default"
    fi
  done
  # The header brings no warning into a strict consumer;
  # -Wpadded would only say that structs have holes.
  for compiler in "$SDPA_CC" "$(command -v clang || :)"; do
    test -n "$compiler" || continue
    run "$compiler" -Wall -Wextra -Werror -Wconversion -Wundef -Wstrict-prototypes \
      -Wshadow -Wcast-qual -Wmissing-prototypes "-I$SDPA_SOURCE/include" \
      -c "$source" -o "$SDPA_WORK/strict.o"
  done
  ;;
*) fail "unknown case $1" ;;
esac

# check_header.sh CASE: the installed header in other people's files.
. "$(dirname "$0")/install_lib.sh"
include=$SDPA_STAGE/include
clang=$(command -v clang || :)
clangxx=$(command -v clang++ || :)

# each_compiler FILE FLAGS...: compiled as C, and as C++ where there is a compiler for it.
each_compiler() {
  each_file=$1
  shift
  for each in "$SDPA_CC" "$clang" "$SDPA_CXX" "$clangxx"; do
    test -n "$each" || continue
    case "$each" in
    "$SDPA_CXX" | "$clangxx") language=c++ ;;
    *) language=c ;;
    esac
    run "$each" -x $language "-I$include" "$@" -c "$each_file" -o "$SDPA_WORK/file.o"
  done
}

case $1 in
beside_cblas)
  needs_blas
  # Report C11: beside a BLAS's own enumerators, in either order;
  # so the header defines none of them.
  enums='enum CBLAS_ORDER { CblasRowMajor = 101, CblasColMajor = 102 };
enum CBLAS_TRANSPOSE { CblasNoTrans = 111 };'
  header='#include <sdpa/sdpa.h>'
  printf '%s\n%s\n' "$enums" "$header" >"$SDPA_WORK/first.c"
  printf '%s\n%s\n' "$header" "$enums" >"$SDPA_WORK/last.c"
  printf '#include <cblas.h>\n%s\n' "$header" >"$SDPA_WORK/own_first.c"
  printf '%s\n#include <cblas.h>\n' "$header" >"$SDPA_WORK/own_last.c"
  for file in first last own_first own_last; do
    each_compiler "$SDPA_WORK/$file.c" -Wall -Wextra -Werror "-isystem$SDPA_CBLAS_INCLUDE"
  done
  if printf '#include <gsl/gsl_cblas.h>\n' | "$SDPA_CC" -E - >/dev/null 2>&1; then
    printf '#include <gsl/gsl_cblas.h>\n%s\n' "$header" >"$SDPA_WORK/gsl_first.c"
    printf '%s\n#include <gsl/gsl_cblas.h>\n' "$header" >"$SDPA_WORK/gsl_last.c"
    each_compiler "$SDPA_WORK/gsl_first.c" -Wall -Wextra -Werror
    each_compiler "$SDPA_WORK/gsl_last.c" -Wall -Wextra -Werror
  else
    echo "gsl_cblas.h is not installed: its order was not tried"
  fi
  # What it includes, and what it defines.
  if grep '#include' "$include/sdpa/sdpa.h" | grep -vE '<(stddef|stdint|sdpa/sdpa)\.h>' >&2; then
    fail "the header includes more than stddef.h and stdint.h"
  fi
  printf '#include <stddef.h>\n#include <stdint.h>\n' >"$SDPA_WORK/without.c"
  (cat "$SDPA_WORK/without.c" && echo "$header") >"$SDPA_WORK/with.c"
  for file in without with; do
    run "$SDPA_CC" "-I$include" -E -dM "$SDPA_WORK/$file.c"
    sort "$log" >"$SDPA_WORK/$file.macros"
  done
  comm -13 "$SDPA_WORK/without.macros" "$SDPA_WORK/with.macros" >"$SDPA_WORK/macros"
  grep -q SDPA_VERSION "$SDPA_WORK/macros" || fail "the macros were not read"
  if grep -v '^#define SDPA_' "$SDPA_WORK/macros" >&2; then fail "macros without the prefix"; fi
  # Every identifier at file scope: what is declared by a function, a typedef,
  # a tag or an enumerator.
  "$SDPA_CC" "-I$include" -E "$SDPA_WORK/with.c" | awk '
    /^# [0-9]+ "/ { inside = ($3 ~ /sdpa\/sdpa\.h"$/); next }
    inside { gsub(/__attribute__ *\(\(visibility\("default"\)\)\)/, ""); print }' \
    >"$SDPA_WORK/header.i"
  { # tags and typedef names; enumerators; functions
    grep -oE '(struct|enum|union) +[A-Za-z_0-9]+' "$SDPA_WORK/header.i" | awk '{ print $2 }'
    grep -oE '^} *[A-Za-z_0-9]+' "$SDPA_WORK/header.i" | tr -d '} '
    grep -E '^typedef' "$SDPA_WORK/header.i" |
      grep -oE '\(\*[A-Za-z_0-9]+\)|[A-Za-z_0-9]+;' | tr -d '(*);'
    grep -oE '[A-Za-z_0-9]+ *= *(-?[0-9]|1 *<<)' "$SDPA_WORK/header.i" | sed 's/ *=.*//'
    grep -oE '^ *[a-z].*[ *][A-Za-z_0-9]+\(' "$SDPA_WORK/header.i" |
      grep -oE '[A-Za-z_0-9]+\($' | tr -d '('
  } | sort -u >"$SDPA_WORK/names"
  test "$(wc -l <"$SDPA_WORK/names")" -gt 80 ||
    fail "only $(wc -l <"$SDPA_WORK/names") names were read"
  if grep -vE '^(sdpa_|SDPA_)' "$SDPA_WORK/names" >&2; then fail "names without the prefix"; fi
  ;;
languages)
  # Report D8: every standard of both languages, the header alone, first and twice, without a
  # warning; a C++ program links and runs (install_cmake_cxx runs one through CMake).
  cp "$SDPA_SOURCE/tests/install/consumer/consumer_cxx.cpp" "$SDPA_WORK/"
  printf '#include <sdpa/sdpa.h>\n#include <sdpa/sdpa.h>\ntypedef sdpa_status not_empty;\n' \
    >"$SDPA_WORK/alone.c"
  for each in "$SDPA_CC" "$clang"; do
    test -n "$each" || continue
    for standard in c99 c11 c17; do
      run "$each" -std=$standard -Wpedantic -Wall -Wextra -Werror "-I$include" \
        -c "$SDPA_WORK/alone.c" -o "$SDPA_WORK/file.o"
      run "$each" -std=$standard -Wpedantic -Wall -Wextra -Werror "-I$include" \
        -c "$SDPA_SOURCE/tests/install/consumer/consumer.c" -o "$SDPA_WORK/file.o"
    done
  done
  libdir=$(dirname "$(dirname "$(find "$SDPA_STAGE" -name sdpa.pc)")")
  # A sanitizer's runtime is its own compiler's: with one,
  # clang++ makes no program with this library.
  case $SDPA_FLAGS in *-fsanitize*) clangxx= ;; esac
  for each in "$SDPA_CXX" "$clangxx"; do
    test -n "$each" || continue
    for standard in c++11 c++17 c++20; do
      # shellcheck disable=SC2046,SC2086 # flags are words
      run "$each" $SDPA_FLAGS -std=$standard -Wpedantic -Wall -Wextra -Werror "-I$include" \
        "$SDPA_WORK/consumer_cxx.cpp" -o "$SDPA_WORK/program" \
        "-L$libdir" "-Wl,-rpath,$libdir" -lsdpa \
        $(sed -n 's/^Libs.*-lsdpa//p; s/^Libs.private://p' "$libdir/pkgconfig/sdpa.pc")
      run "$SDPA_WORK/program"
      says "$SDPA_VERSION ok"
    done
  done
  # The standard headers stand before the linkage guard.
  awk '/extern "C"/ { guard = 1 } /^#include/ && guard { exit 1 }' "$include/sdpa/sdpa.h" ||
    fail "the header includes something inside extern \"C\""
  ;;
reserved_names)
  # Report D15: no name of the compiler's or the C library's is taken,
  # and none that systems use as macros.
  if sed 's|/\*.*||' "$include/sdpa/sdpa.h" |
    grep -nE '(#define|#ifndef|typedef|struct|enum)[^/]*[^A-Za-z0-9_](_[A-Z_]|__)' |
    grep -vE '__cplusplus|__attribute__|__declspec|__GNUC__' >&2; then
    fail "the names above are reserved"
  fi
  printf '#include <sdpa/sdpa.h>\ntypedef sdpa_status not_empty;\n' >"$SDPA_WORK/alone.c"
  each_compiler "$SDPA_WORK/alone.c" -Wall -Wextra -Werror -Dlinux -Dunix -DI=1 -Dmin=x -Dmax=y \
    -Dsmall=char -Dnear= -Dfar= -Dinterface=struct -DERROR=0
  if [ -n "$clang" ]; then
    run "$clang" -Wreserved-identifier -Wreserved-macro-identifier -Werror "-I$include" \
      -c "$SDPA_WORK/alone.c" -o "$SDPA_WORK/file.o"
  fi
  ;;
*) fail "unknown case $1" ;;
esac

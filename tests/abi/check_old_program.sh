# check_old_program.sh VERSION: programs compiled with the header of that version, such as 0_1,
# under this build's libraries. VERSION "today": with the installed header,
# so that the program itself is kept whole.
. "$(dirname "$0")/../install/install_lib.sh"
folder=$SDPA_SOURCE/tests/abi
libdir=$(dirname "$(dirname "$(find "$SDPA_STAGE" -name sdpa.pc)")")
private=$(sed -n 's/^Libs.*-lsdpa//p; s/^Libs.private://p' "$libdir/pkgconfig/sdpa.pc")
include=$SDPA_STAGE/include
if [ "$1" != today ]; then
  include=$SDPA_WORK/include
  mkdir -p "$include/sdpa"
  cp "$folder/sdpa_$1.h" "$include/sdpa/sdpa.h"
fi
minor=$(sed -n 's/^#define SDPA_VERSION_MINOR //p' "$include/sdpa/sdpa.h")
test "$1" = today || test "0_$minor" = "$1" || fail "sdpa_$1.h is the header of 0.$minor"

# The functions of that version are those of its node and the nodes before.
declared_functions "$include" >"$SDPA_WORK/declared"
sed 's/@@SDPA_0\./ /' "$folder/symbols.txt" | awk -v most="$minor" '$2 <= most { print $1 }' |
  LC_ALL=C sort | diff - "$SDPA_WORK/declared" >&2 ||
  fail "the header of 0.$minor declares other functions (>) than its node and those before have (<)"

# build KIND SOURCE: as a program of that time was built.
build() {
  set -- "$@" "$libdir/libsdpa.a"
  test "$1" = static || set -- "$1" "$2" "-L$libdir" "-Wl,-rpath,$libdir" -lsdpa
  build_program=$SDPA_WORK/$(basename "$2" .c)_$1
  build_source=$folder/$2
  shift 2
  # shellcheck disable=SC2086
  run "$SDPA_CC" $SDPA_FLAGS -O1 -Wall -Wextra -Werror "-I$include" "$build_source" \
    -o "$build_program" "$@" $private
}

# It calls every one of them. A sanitizer's build adds names of its own.
run "$SDPA_CC" -Wall -Wextra -Werror "-I$include" -c "$folder/old_program.c" \
  -o "$SDPA_WORK/old_program.o"
nm -u "$SDPA_WORK/old_program.o" | awk '{ print $2 }' | grep '^sdpa_' | LC_ALL=C sort |
  diff "$SDPA_WORK/declared" - >&2 ||
    fail "old_program.c does not call each function of 0.$minor (<)"

for kind in $SDPA_KINDS; do
  build "$kind" old_program.c
  run "$SDPA_WORK/old_program_$kind"
  says "program of 0.$minor ok"
  build "$kind" versioned_program.c
  run "$SDPA_WORK/versioned_program_$kind"
  says "status 0 from the present library"
done

# What it needs at load time is what a library of that version has.
case $SDPA_KINDS in
*shared*)
  objdump -p "$SDPA_WORK/old_program_shared" | grep -o 'SDPA_0\.[0-9]*' >"$SDPA_WORK/nodes" ||
    fail "no version is needed"
  if awk -F. -v most="$minor" '$2 > most' "$SDPA_WORK/nodes" | grep . >&2; then
    fail "a program of 0.$minor needs the versions above"
  fi
  ;;
esac

# Constants keep their values: those of that header, printed by today's.
for header in "$include" "$SDPA_STAGE/include"; do
  {
    printf '#include <sdpa/sdpa.h>\n#include <stdio.h>\nint main(void) {\n'
    tr '{},;' '\n\n\n\n' <"$include/sdpa/sdpa.h" |
      sed -n 's/^ *\(SDPA_[A-Z0-9_]*\) *= .*/  printf("\1 %lld\\n", (long long)\1);/p'
    printf '  return 0;\n}\n'
  } >"$SDPA_WORK/constants.c"
  # shellcheck disable=SC2086
  run "$SDPA_CC" $SDPA_FLAGS "-I$header" "$SDPA_WORK/constants.c" -o "$SDPA_WORK/constants"
  run "$SDPA_WORK/constants"
  test "$(wc -l <"$log")" -ge 52 || fail "only $(wc -l <"$log") constants were read"
  test ! -f "$SDPA_WORK/values" || diff "$SDPA_WORK/values" "$log" >&2 ||
    fail "constants of 0.$minor (<) have other values today (>)"
  cp "$log" "$SDPA_WORK/values"
done

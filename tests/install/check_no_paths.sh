# The installed tree names no place of the build machine (report D1): neither the prefix it was
# installed to first, nor the source or build tree, nor a system library's path.
# The consumers prove that it works moved.
. "$(dirname "$0")/install_lib.sh"

# A copy, so that debug information, which names the sources where a build
# asks for it, can be taken off.
cp -R "$SDPA_STAGE" "$SDPA_WORK/copy"
test -n "$(find "$SDPA_WORK/copy" -name '*.cmake')" || fail "no CMake files are installed"
if [ -z "$SDPA_FLAGS" ]; then
  find "$SDPA_WORK/copy" -type f \
    \( -name 'libsdpa.a' -o -name 'libsdpa.so.*' -o -path '*/bin/*' \) \
    -exec strip --strip-debug {} +
else
  # A sanitizer's reports name the source file; such a build is not one to install.
  find "$SDPA_WORK/copy" \( -name 'libsdpa.a' -o -name 'libsdpa.so*' -o -path '*/bin/*' \) \
    -exec rm {} +
fi
for place in "$SDPA_SOURCE" "$SDPA_BUILD" "$(dirname "$SDPA_STAGE")/first" "$SDPA_STAGE"; do
  if grep -rnaoF -- "$place" "$SDPA_WORK/copy" >"$log"; then
    cat "$log" >&2
    fail "an installed file names $place"
  fi
done
if grep -rnE '(^|[ ";=(])/(usr|lib|lib64|opt|home|root|tmp)\>' "$SDPA_WORK/copy" \
  --include='*.cmake' --include='*.pc' >"$log"; then
  cat "$log" >&2
  fail "an installed file holds an absolute path"
fi
find "$SDPA_STAGE" -name 'libsdpa.so.*' -type f | while read -r library; do
  if readelf -d "$library" | grep -E 'RPATH|RUNPATH' >"$log"; then
    cat "$log" >&2
    fail "$library has a search path"
  fi
done

# The header comes from the moved tree and from nowhere else.
printf '#include <sdpa/sdpa.h>\n' >"$SDPA_WORK/only.c"
run "$SDPA_CC" -M "-I$SDPA_STAGE/include" "$SDPA_WORK/only.c"
says "$SDPA_STAGE/include/sdpa/sdpa.h"
never_says "$SDPA_SOURCE/include"

# Components: what a program needs to run, what its build needs, and the programs.
: >"$SDPA_WORK/parts"
for component in runtime dev tools; do
  run "$SDPA_CMAKE" --install "$SDPA_BUILD" --config "$SDPA_CONFIG" \
    --component $component --prefix "$SDPA_WORK/$component"
  mkdir -p "$SDPA_WORK/$component"
  (cd "$SDPA_WORK/$component" && find . ! -type d) >"$SDPA_WORK/$component.txt"
  cat "$SDPA_WORK/$component.txt" >>"$SDPA_WORK/parts"
done
# Below share/ Debian's package sdpa, a solver, has folders of that name.
if grep -E '^\./share/(doc/)?sdpa/' "$SDPA_WORK/parts" >&2; then
  fail "a folder of somebody else's name"
fi
if grep -E '\.(h|cmake|pc|a|so|[13])$' "$SDPA_WORK/runtime.txt" >&2; then
  fail "component runtime holds files for builds"
fi
of_tools='bin/sdpa-|share/man/man1/sdpa-|share/libsdpa/shapes/|share/doc/libsdpa/COPYRIGHT$'
if grep -vE "^\./($of_tools)" "$SDPA_WORK/tools.txt" >&2; then
  fail "component tools holds more than programs, their pages, data and notices"
fi
# Each program comes with its manual page.
sed -n 's/^\.\/bin\/\(.*\)/.\/share\/man\/man1\/\1.1/p' "$SDPA_WORK/tools.txt" |
  while read -r page; do
    grep -qx "$page" "$SDPA_WORK/tools.txt" || fail "$page is missing"
  done
# What the pages refer to is there.
find "$SDPA_STAGE/share/man/man1" -name '*.1' \
  -exec sed -n 's/^\.\(It \)\{0,1\}Pa //p' {} + 2>/dev/null |
  while read -r name; do
    # shellcheck disable=SC2086 # a pattern
    ls "$SDPA_STAGE"/$name >/dev/null || fail "$name is not installed"
  done
(cd "$SDPA_STAGE" && find . ! -type d) | sort >"$SDPA_WORK/whole"
sort "$SDPA_WORK/parts" | diff - "$SDPA_WORK/whole" >&2 ||
  fail "the components are not the whole install"

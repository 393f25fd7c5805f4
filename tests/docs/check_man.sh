# check_man.sh CASE: the manual pages that were made from the header.
. "$(dirname "$0")/../install/install_lib.sh"
pages=$SDPA_BUILD/man/man3
programs=$SDPA_SOURCE/docs/man
symbols=$SDPA_SOURCE/tests/abi/symbols.txt

# own_pages: those that are no links to others.
own_pages() {
  find "$pages" -name '*.3' -type f | sort
}

# plain: mdoc's literal text as it is read.
plain() {
  sed -e 's/\\&//g; s/\\-/-/g; s/\\(aq/'"'"'/g' \
    -e 's/\\(dq/"/g; s/\\(ha/^/g; s/\\(ti/~/g; s/\\(ga/`/g; s/\\e/\\/g'
}

# lint FILE...: nothing at the level of warnings, which mandoc puts below errors,
# and nothing too wide.
lint() {
  command -v mandoc >/dev/null || skip "there is no mandoc"
  if mandoc -T lint -W warning "$@" >"$log" 2>&1 && test ! -s "$log"; then :; else
    cat "$log" >&2
    fail "mandoc complains"
  fi
  for page in "$@"; do
    mandoc -T ascii -O width=78 "$page" | sed "s/.$(printf '\b')//g" >"$SDPA_WORK/page.txt"
    test "$(wc -l <"$SDPA_WORK/page.txt")" -gt 15 || fail "$page is empty"
    awk -v page="$page" 'length > 80 { print page ": " $0; wide = 1 } END { exit wide }' \
      "$SDPA_WORK/page.txt" >&2 ||
      fail "the lines above are wider than 80 columns"
  done
}

test "$(wc -l <"$symbols")" -gt 30 || fail "$symbols was not read"
case $1 in
symbols)
  # Every exported function has a page, under its own name,
  # which names it and the version it came with.
  while IFS= read -r symbol; do
    name=${symbol%%@*}
    since=${symbol##*SDPA_}
    test -e "$pages/$name.3" || fail "$name has no page"
    awk -v name="$name" -v since="$since" '
      /^\.Sh/ { section = $0 }
      section == ".Sh NAME" && $1 == ".Nm" && $2 == name { named = 1 }
      section != ".Sh HISTORY" { next }
      $1 == ".Nm" && $2 == name { told = 1 }
      /^appeared/ && told { right = ($0 == "appeared in libsdpa " since "."); exit }
      END { exit !(named && right) }' "$pages/$name.3" ||
        fail "$name.3 does not say that $name is since $since"
  done <"$symbols"
  ;;
sections)
  for page in $(own_pages); do
    needed_sections="NAME LIBRARY SYNOPSIS DESCRIPTION"
    if grep -q '^\.Fo' "$page"; then
      needed_sections="$needed_sections RETURN_VALUES THREADS HISTORY"
    fi
    if grep -q '^\.Ft sdpa_status' "$page"; then needed_sections="$needed_sections ERRORS"; fi
    # The names of what is there, each of which must have something in it.
    sed -n 's/^\.Sh //p' "$page" | tr ' ' '_' >"$SDPA_WORK/sections"
    for section in $needed_sections SEE_ALSO; do
      grep -qx "$section" "$SDPA_WORK/sections" ||
        fail "$(basename "$page") has no section $section"
    done
    awk '/^\.Sh/ && last ~ /^\.Sh/ { exit 1 } { last = $0 } END { if (last ~ /^\.Sh/) exit 1 }' \
      "$page" ||
      fail "$(basename "$page") has an empty section"
  done
  # No page promises threads what the header does not, or names an argument that its functions lack.
  page=$pages/sdpa_plan_destroy.3
  if grep -q 'Any number of threads' "$page"; then fail "any thread may free a plan again"; fi
  grep -q 'A plan is destroyed once' "$page" || fail "sdpa_plan_destroy.3 says nothing of threads"
  for page in $(own_pages); do
    grep -q '^\.Fo' "$page" && ! grep -q '^\.Fa .*workspace' "$page" || continue
    if sed -n '/^\.Sh ERRORS/,/^\.Sh SEE/p' "$page" | grep workspace >&2; then
      fail "$(basename "$page") has no workspace"
    fi
  done
  # What a page refers to is there.
  # shellcheck disable=SC2046 # names without blanks, one argument each
  cat $(own_pages) "$programs"/*.1 | grep -oE 'Xr sdpa[a-z0-9_\-]* [13]' | tr -d '\\' | sort -u |
    while read -r _ name section; do
      test -e "$pages/$name.$section" || test -e "$programs/$name.$section" ||
        fail "there is no $name($section)"
    done
  ;;
lint)
  # shellcheck disable=SC2046 # as above
  lint $(own_pages)
  ;;
lint_programs) lint "$programs"/*.1 ;;
synopsis)
  # Prototypes and structs as the pages print them, compiled beside the header's own.
  {
    echo '#include <sdpa/sdpa.h>'
    for page in $(own_pages); do
      plain <"$page" | awk '
        function argument() { sub(/^\.F[tao] /, ""); gsub(/^"|"$/, ""); return $0 }
        /^\.Ft/ { type = argument() }
        /^\.Fo/ { call = type " " argument() "("; comma = "" }
        /^\.Fa/ && call { call = call comma argument(); comma = ", " }
        /^\.Fc/ { print call ");"; call = "" }
        /^typedef struct .* \{$/ { name = $3; sub(/struct /, "struct page_"); inside = 1 }
        inside { sub("^} " name, "} page_" name); print }
        /^} page_/ { inside = 0
          print "typedef char same_" name "[sizeof(page_" name ") == sizeof(" name ") ? 1 : -1];" }'
    done
  } >"$SDPA_WORK/synopsis.c"
  test "$(grep -cE '^[a-z].*\);$' "$SDPA_WORK/synopsis.c")" = "$(wc -l <"$symbols")" ||
    fail "not every prototype was found"
  test "$(grep -c '^typedef char same_' "$SDPA_WORK/synopsis.c")" = 6 ||
    fail "not every struct was found"
  run "$SDPA_CC" -std=c99 -pedantic-errors -Wall -Wextra -Werror -I"$SDPA_SOURCE/include" \
    -fsyntax-only "$SDPA_WORK/synopsis.c"
  ;;
examples)
  # Each example in a function of its own, what it leaves out filled in:
  # the caller's variables and the dots.
  {
    printf '%s\n' '#include <sdpa/sdpa.h>' '#include <stdio.h>' '#include <stdlib.h>' \
      'float *q, *k, *v, *out, *lse, *d_out, *d_q, *d_k, *d_v;' \
      'sdpa_problem problem;' 'sdpa_args args;' 'sdpa_status status;'
    for page in $(own_pages); do
      plain <"$page" | awk -v page="$(basename "$page" .3)" '
        /^\.Sh/ { inside = ($2 == "EXAMPLES") }
        inside && /^\.Bd/ {
          name = "void example_" page (++count) "(void)"
          print name ";\n" name " {"
          next
        }
        inside && /^\.Ed/ { print "}"; next }
        inside && !/^\./ { sub(/ \.\.\.$/, " return;"); sub(/^for each input: /, ""); print }'
    done
  } >"$SDPA_WORK/examples.c"
  test "$(grep -c '^void example_.*{' "$SDPA_WORK/examples.c")" -gt 12 ||
    fail "the examples were not found"
  run "$SDPA_CC" -std=c11 -Wall -Werror -I"$SDPA_SOURCE/include" \
    -fsyntax-only "$SDPA_WORK/examples.c"
  ;;
*) fail "unknown case $1" ;;
esac

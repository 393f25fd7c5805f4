# check_reference.sh DOXYGEN DOXYFILE: the HTML reference is made without a warning,
# and holds what it should.
. "$(dirname "$0")/../install/install_lib.sh"
html=$SDPA_WORK/html
{
  cat "$2"
  printf 'OUTPUT_DIRECTORY = "%s"\n' "$SDPA_WORK"
} >"$SDPA_WORK/Doxyfile"
run "$1" "$SDPA_WORK/Doxyfile"
test ! -s "$log" || {
  cat "$log" >&2
  fail "doxygen says something"
}

# Every function, and every page of docs/, is in it.
sed 's/@.*//' "$SDPA_SOURCE/tests/abi/symbols.txt" | while read -r name; do
  grep -qF ">$name()</h2>" "$html"/group__*.html || fail "$name is not described"
done
for page in "$SDPA_SOURCE"/docs/*.md; do
  name=page_docs_$(basename "$page" .md | tr '-' '_')
  test -f "$html/$name.html" || fail "there is no $name.html"
done

# Links and pictures lead to files that are there.
grep -ohE '(href|src|data)="[^"#:]+["#]' "$html"/*.html | sed 's/.*="//; s/["#]$//' |
  sort -u >"$SDPA_WORK/links"
test "$(wc -l <"$SDPA_WORK/links")" -gt 50 || fail "the links were not read"
grep -q '\.svg$' "$SDPA_WORK/links" || fail "there are no pictures"
while IFS= read -r link; do
  test -e "$html/$link" || fail "a link leads to $link, which is not there"
done <"$SDPA_WORK/links"
for place in "$SDPA_SOURCE" "$SDPA_BUILD"; do
  if grep -rlF -- "$place" "$html" >&2; then fail "the files above name $place"; fi
done

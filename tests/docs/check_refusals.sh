# check_refusals.sh PYTHON: a header or a list of names that the manual pages cannot be made from is
# an error that says why; nothing is left out in silence.
. "$(dirname "$0")/../install/install_lib.sh"
python=$1
header=$SDPA_SOURCE/include/sdpa/sdpa.h
names=$SDPA_SOURCE/docs/man/names.txt
make_pages() {
  "$python" -B "$SDPA_SOURCE/docs/reference/man_pages.py" "$@" "$SDPA_WORK/man3"
}

# refuses TEXT SED_SCRIPT FILE: with one of the two files changed.
refuses() {
  sed "$2" "$3" >"$SDPA_WORK/changed"
  if cmp -s "$SDPA_WORK/changed" "$3"; then fail "nothing to change: $2"; fi
  case $3 in
  "$header") refused "$1" make_pages "$SDPA_WORK/changed" "$names" ;;
  *) refused "$1" make_pages "$header" "$SDPA_WORK/changed" ;;
  esac
}

# Wrong arguments are told, and end in 2.
for script in man_pages reference_header reference_page; do
  run "$python" -B "$SDPA_SOURCE/docs/reference/$script.py" --help
  says "usage: $script.py"
  none=$SDPA_WORK/none
  for arguments in "" "a b c d" "--no-such-option" "$none $none $none"; do
    status=0
    # shellcheck disable=SC2086 # words
    "$python" -B "$SDPA_SOURCE/docs/reference/$script.py" $arguments >"$log" 2>&1 || status=$?
    test $status = 2 || fail "$script.py $arguments: exit status $status"
    never_says Traceback
  done
done
run make_pages "$header" "$names"
refuses "sdpa_plan_describes has no page" \
  's/sdpa_plan_describe() and/sdpa_plan_describes() and/' "$header"
refuses "a declaration of no known form" \
  's/^typedef int32_t sdpa_status;/union sdpa_status;/' "$header"
refuses "neither a term with its text" 's/^ \*   causal  *j/ *   causal j/' "$header"
refuses "71 columns verbatim" \
  's/^ \*     s = s + bias.*/& and much more than there is room for in a line/' "$header"
refuses "a comment about nothing" 's/^\/\* ---- EXPLANATIONS/\/* Nothing. *\/\n\n&/' "$header"
refuses "names.txt must have one of ['sdpa_merge']" '/^sdpa_merge /d' "$names"
refuses "names.txt has {'sdpa_melt'}" 's/^sdpa_merge .*/&\nsdpa_melt  melt/' "$names"

# check_options.sh NAME PROGRAM: the manual page of a program has the options of its --help, and the
# words that those with a choice take.
. "$(dirname "$0")/../install/install_lib.sh"
page=$SDPA_SOURCE/docs/man/$1.1
run "$2" --help
cp "$log" "$SDPA_WORK/help"

grep -oE -e '--[a-z][a-z-]*' "$SDPA_WORK/help" | sort -u >"$SDPA_WORK/options"
test "$(wc -l <"$SDPA_WORK/options")" -ge 4 ||
  fail "--help has only $(wc -l <"$SDPA_WORK/options") options"
# mdoc writes --name as Fl -name. Once in the list of options, at least once in the synopsis.
sed -n 's/^\.It Fl \(-[a-z-]*\).*/-\1/p' "$page" | sort >"$SDPA_WORK/described"
diff "$SDPA_WORK/options" "$SDPA_WORK/described" >&2 ||
  fail "$1.1 does not describe the options of --help"
sed -n '/^\.Sh SYNOPSIS/,/^\.Sh DESCRIPTION/p' "$page" | grep -oE 'Fl -[a-z-]+' |
  sed 's/Fl -/--/' | sort -u >"$SDPA_WORK/listed"
diff "$SDPA_WORK/options" "$SDPA_WORK/listed" >&2 ||
  fail "the synopsis of $1.1 has not the options of --help"

# --engine auto|blas|tiled
grep -oE -e '--[a-z]+ [a-z0-9]+(\|[a-z0-9]+)+' "$SDPA_WORK/help" | sort -u |
  while read -r option words; do
    sed -n "/^\.It Fl ${option#-} /,/^\.It /p" "$page" |
      sed -n 's/^\.Cm \([a-z0-9]*\).*/\1/p' | paste -sd'|' >"$SDPA_WORK/words"
    test "$(cat "$SDPA_WORK/words")" = "$words" ||
      fail "$option takes $words, $1.1 says $(cat "$SDPA_WORK/words")"
    echo "$option takes $words"
  done

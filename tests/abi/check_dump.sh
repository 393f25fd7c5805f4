# Against the kept dump of this architecture, the ABI has additions at most: functions, and fields
# at the ends of structs with a size. Built by this build's compiler,
# and by clang where there is one.
. "$(dirname "$0")/../install/install_lib.sh"
folder=$SDPA_SOURCE/tests/abi
. "$folder/dump_lib.sh"
command -v abidw >/dev/null && command -v abidiff >/dev/null ||
  skip "libabigail (abidw, abidiff) is not installed"
kept=$folder/$(dump_of "$SDPA_CC")
test -f "$kept" || skip "there is no $(basename "$kept")"

members() {
  awk -f "$folder/dump_members.awk" "$1" | LC_ALL=C sort
}
members "$kept" >"$SDPA_WORK/members"
test "$(wc -l <"$SDPA_WORK/members")" -gt 90 ||
  fail "only $(wc -l <"$SDPA_WORK/members") members were read"

# compare FOLDER: prints what is more than an addition. Its status is abidiff's, of which 1 and 2
# are errors, 4 and 8 changes; 4 also where a member is not what and where it was.
compare() {
  abidiff --no-added-syms --suppressions "$folder/grown_structs.abignore" "$kept" "$1/abi" || return
  members "$1/abi" | LC_ALL=C comm -23 "$SDPA_WORK/members" - >"$1/lost"
  sed 's/^/not there any more: /' "$1/lost"
  test ! -s "$1/lost" || return 4
}

for compiler in "$SDPA_CC" "$(command -v clang || :)"; do
  test -n "$compiler" || continue
  run dump_abi "$compiler" "$SDPA_SOURCE" "$SDPA_WORK/today"
  run compare "$SDPA_WORK/today"
done

# edited NAME FILE SED...: a source tree with those edits, which must take, and its dump.
edited() {
  edited_tree=$SDPA_WORK/$1
  rm -rf "$edited_tree"
  copy_source "$edited_tree"
  edited_file=$edited_tree/$2
  shift 2
  sed -i "$@" "$edited_file"
  if cmp -s "$edited_file" "$SDPA_SOURCE/${edited_file#"$edited_tree"/}"; then
    fail "no edit: $*"
  fi
}

dump_edited() {
  run dump_abi "$SDPA_CC" "$edited_tree" "$edited_tree/dump"
}

# breaks WHAT: what was edited is a break, and abidiff says WHAT.
breaks() {
  dump_edited
  breaks_status=0
  compare "$edited_tree/dump" >"$log" 2>&1 || breaks_status=$?
  test $((breaks_status & 3)) = 0 || fail "abidiff failed: $(cat "$log")"
  test $((breaks_status & 12)) != 0 || fail "not noticed: $edited_tree"
  says "$1"
}

header=include/sdpa/sdpa.h
# The grown library of report D6 has no break.
edited grown $header 's/^} sdpa_\(problem\|options\|args\|grads\|plan_info\);/  int64_t grown;\n&/;
  s/^SDPA_API int32_t sdpa_version(void);/&\nSDPA_API int32_t sdpa_grown(void);/'
test "$(grep -c grown "$edited_file")" = 6 || fail "the header was not edited as meant"
printf '\nSDPA_9.9 {\n  global:\n    sdpa_grown;\n} SDPA_0.4;\n' >>"$edited_tree/src/libsdpa.map"
printf '\nint32_t sdpa_grown(void) {\n  return 1;\n}\n' >>"$edited_tree/src/api/status_api.c"
dump_edited
run compare "$edited_tree/dump"

edited inserted $header 's/^  double softcap;/  double inserted;\n&/'
breaks "inserted"
edited widened $header 's/^  int32_t threads; /  int64_t threads; /'
breaks "sdpa_options"
edited exchanged $header \
  's/^  const void \*query, \*key, \*value;/  const void *query, *value, *key;/'
breaks "sdpa_args"
edited frozen $header 's/^  int64_t batch, head, row, col;/  int64_t batch, head, row, col, grown;/'
breaks "sdpa_strides"
edited callback $header \
  's/(\*sdpa_task)(void \*arg, int64_t task)/(*sdpa_task)(void *arg, int32_t task)/'
breaks "sdpa_task"
edited removed src/libsdpa.map '/^    sdpa_plan_describe;/d'
breaks "sdpa_plan_describe"
edited other_node src/libsdpa.map \
  '/^    sdpa_grads_init;/d; s/^    sdpa_merge;/&\n    sdpa_grads_init;/'
breaks "sdpa_grads_init"
edited returned $header 's/int32_t sdpa_version(void)/int64_t sdpa_version(void)/'
sed -i 's/int32_t sdpa_version(void)/int64_t sdpa_version(void)/' "$edited_tree/src/api/info_api.c"
breaks "sdpa_version"
edited major $header 's/^#define SDPA_VERSION_MAJOR 0/#define SDPA_VERSION_MAJOR 1/'
breaks "SONAME"

# check_symbols.sh CASE: the names that the libraries define.
. "$(dirname "$0")/../install/install_lib.sh"
folder=$SDPA_SOURCE/tests/abi
libdir=$(dirname "$(dirname "$(find "$SDPA_STAGE" -name sdpa.pc)")")
# What a static link adds, word by word.
private=$(sed -n 's/^Libs.*-lsdpa//p; s/^Libs.private://p' "$libdir/pkgconfig/sdpa.pc")

exported() {
  nm -D --defined-only --with-symbol-versions "$libdir/libsdpa.so" | awk '{ print $3 }' |
    grep -v '^SDPA_[0-9.]*$' | LC_ALL=C sort
}

case $1 in
exported)
  # Each with its version node. A new one comes in the node of its version; none ever goes.
  needs_kind shared
  exported | diff "$folder/symbols.txt" - >&2 ||
    fail "the library exports other symbols (>) than tests/abi/symbols.txt (<)"
  LC_ALL=C sort -c "$folder/symbols.txt"
  if exported | grep -v '^sdpa_' >&2; then fail "names without the prefix"; fi
  ;;
declared)
  # One for one those that the header declares for users.
  declared_functions "$SDPA_STAGE/include" >"$SDPA_WORK/declared"
  sed 's/@.*//' "$folder/symbols.txt" | LC_ALL=C sort | diff - "$SDPA_WORK/declared" >&2 ||
    fail "the header declares other functions (>) than tests/abi/symbols.txt lists (<)"
  ;;
archive)
  needs_kind static
  nm -g --defined-only "$libdir/libsdpa.a" | awk 'NF == 3 { print $3 }' |
    sort -u >"$SDPA_WORK/globals"
  grep -q '^sdpa_attention$' "$SDPA_WORK/globals" || fail "the archive was not read"
  # A sanitizer adds names of its own.
  test -z "$SDPA_FLAGS" || sed -i '/^__odr_asan/d' "$SDPA_WORK/globals"
  if grep -vE '^sdpai?_' "$SDPA_WORK/globals" >&2; then fail "the globals above have no prefix"; fi
  sed 's/@.*//' "$folder/symbols.txt" | sort >"$SDPA_WORK/listed"
  grep '^sdpa_' "$SDPA_WORK/globals" | diff "$SDPA_WORK/listed" - >&2 ||
    fail "the archive offers other functions (>) than tests/abi/symbols.txt lists (<)"
  ;;
own_names)
  # Report D7: a program with functions of its own that are called like internals of such a library.
  # -rdynamic offers them to the shared library, too.
  for kind in $SDPA_KINDS; do
    set -- "$libdir/libsdpa.a"
    test "$kind" = static || set -- "-L$libdir" "-Wl,-rpath,$libdir" -lsdpa
    # shellcheck disable=SC2086
    run "$SDPA_CC" $SDPA_FLAGS -rdynamic "-I$SDPA_STAGE/include" "$folder/own_names.c" \
      -o "$SDPA_WORK/$kind" "$@" $private
    run "$SDPA_WORK/$kind"
    says "ok"
  done
  ;;
position_independent)
  # The whole archive inside a shared library of somebody else's, without text relocations.
  needs_kind static
  # shellcheck disable=SC2086
  run "$SDPA_CC" $SDPA_FLAGS -shared -Wl,-z,text -Wl,--fatal-warnings \
    -Wl,--whole-archive "$libdir/libsdpa.a" -Wl,--no-whole-archive \
    -o "$SDPA_WORK/libplugin.so" $private
  if readelf -d "$SDPA_WORK/libplugin.so" | grep TEXTREL >&2; then fail "text relocations"; fi
  # shellcheck disable=SC2086
  run "$SDPA_CC" $SDPA_FLAGS "-I$SDPA_STAGE/include" \
    "$SDPA_SOURCE/tests/install/consumer/consumer.c" -o "$SDPA_WORK/program" \
    "-L$SDPA_WORK" "-Wl,-rpath,$SDPA_WORK" -lplugin
  run "$SDPA_WORK/program"
  says "$SDPA_VERSION ok"
  ;;
*) fail "unknown case $1" ;;
esac

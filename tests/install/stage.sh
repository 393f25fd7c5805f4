# Installs this build, then moves the tree: every consumer test uses a prefix that was never
# configured. SDPA_WORK is the folder that holds the stage.
. "$(dirname "$0")/install_lib.sh"
run "$SDPA_CMAKE" --install "$SDPA_BUILD" --config "$SDPA_CONFIG" --prefix "$SDPA_WORK/first"
says "$SDPA_WORK/first"
mv "$SDPA_WORK/first" "$SDPA_STAGE"
test -f "$SDPA_STAGE/include/sdpa/sdpa.h" || fail "no header in $SDPA_STAGE"

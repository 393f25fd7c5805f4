# Which versions find_package accepts, and that every place names the same version (report D16).
. "$(dirname "$0")/install_lib.sh"
major=${SDPA_VERSION%%.*}
rest=${SDPA_VERSION#*.}
minor=${rest%%.*}
next_major=$((major + 1))
next_minor=$((minor + 1))

count=0
for request in "$major" "$major.$minor" "$SDPA_VERSION;EXACT" "$major...<$next_major" \
  "$major.$minor...$major.$next_minor"; do
  count=$((count + 1))
  run configure_consumer "$SDPA_WORK/good$count" "-DREQUEST=$request;REQUIRED" -DLINK=sdpa::sdpa
  says "sdpa $SDPA_VERSION from $SDPA_STAGE/"
done

for request in "$next_major" "$major.$next_minor" "$SDPA_VERSION.1" "$major.$minor.99;EXACT" \
  "$next_major...<$((next_major + 1))"; do
  count=$((count + 1))
  # CMake's reason: the file that it looked at, and its version.
  refused "sdpaConfig.cmake, version: $SDPA_VERSION" \
    configure_consumer "$SDPA_WORK/bad$count" "-DREQUEST=$request;REQUIRED" -DLINK=sdpa::sdpa
  case $request in
  *EXACT) says "exactly matches requested version \"${request%;EXACT}\"" ;;
  *) says "compatible with requested version" ;;
  esac
done

# The program compares the header's macros with sdpa_version() and prints sdpa_version_string().
build_and_run "$SDPA_WORK/good1"
header=$(sed -n 's/^#define SDPA_VERSION_\(MAJOR\|MINOR\|PATCH\) //p' \
  "$SDPA_STAGE/include/sdpa/sdpa.h" | paste -sd.)
test "$header" = "$SDPA_VERSION" || fail "the header says $header"
pc=$(sed -n 's/^Version: //p' "$(find "$SDPA_STAGE" -name sdpa.pc)")
test "$pc" = "$SDPA_VERSION" || fail "sdpa.pc says $pc"
case $SDPA_KINDS in
*shared*)
  library=$(find "$SDPA_STAGE" -name 'libsdpa.so.*.*')
  test "$(basename "$library")" = "libsdpa.so.$SDPA_VERSION" ||
    fail "the library's file is $library"
  readelf -d "$library" | grep -qF "soname: [libsdpa.so.$major]" ||
    fail "the SONAME is not libsdpa.so.$major"
  ;;
esac

# check_packages.sh CASE: what cpack has made of this build.
. "$(dirname "$0")/../install/install_lib.sh"
made=$SDPA_BUILD/packages
cpack=$(dirname "$SDPA_CMAKE")/cpack
packages="libsdpa0 libsdpa-dev sdpa-tools"
test -d "$made" || skip "there are no packages: cpack --preset package makes them"

# deb PACKAGE: its file, one and no more.
deb() {
  set -- "$made/$1_$SDPA_VERSION"-*.deb
  test $# = 1 || fail "not one package but $*"
  test -f "$1" || fail "there is no $1"
  printf '%s\n' "$1"
}

# field PACKAGE NAME
field() {
  dpkg-deb -f "$(deb "$1")" "$2"
}

# archive_of KIND: the archive of the installed tree or of the sources.
archive_of() {
  case $1 in
  tree) set -- "$made/libsdpa-$SDPA_VERSION"-*.tar.gz ;;
  source) set -- "$made/libsdpa-$SDPA_VERSION.tar.gz" ;;
  esac
  test $# = 1 || fail "not one archive but $*"
  test -f "$1" || fail "there is no $1"
  printf '%s\n' "$1"
}

needs_dpkg() {
  command -v dpkg-deb >/dev/null || skip "there is no dpkg"
}

# same FILE: it has the same bytes in the two builds.
same() {
  test -f "$SDPA_BUILD/$1" || fail "this build has no $1"
  cmp "$SDPA_BUILD/$1" "$other/build/package/$1" || fail "two builds differ in $1"
}

# licence NAME: the text that COPYRIGHT has under it, without the format's marks.
licence() {
  awk -v name="$1" 'text && /^[^ ]/ { exit } text { sub(/^ \.?/, ""); print }
    $0 == "License: " name { getline following; text = (following ~ /^ /); sub(/^ /, "", following)
      if (text) print following }' "$SDPA_SOURCE/COPYRIGHT" | sed '/./,$!d'
}

case $1 in
copyright)
  # COPYRIGHT says what the packages' files are under: LICENSE, word for word, and NumPy's licences
  # for its numbers.
  sed '1,/^Copyright/d' "$SDPA_SOURCE/LICENSE" | sed '/./,$!d' >"$SDPA_WORK/own"
  licence BSD-3-clause | sed '${/^$/d}' | diff "$SDPA_WORK/own" - >&2 ||
    fail "COPYRIGHT has another licence than LICENSE"
  sed -n 's/^Copyright (c) /Copyright: /p' "$SDPA_SOURCE/LICENSE" >"$SDPA_WORK/holder"
  grep -qxf "$SDPA_WORK/holder" "$SDPA_SOURCE/COPYRIGHT" ||
    fail "COPYRIGHT has another holder than LICENSE"
  for name in BSD-3-clause-NumPy Expat; do
    test "$(licence $name | wc -l)" -gt 10 || fail "COPYRIGHT has no text of $name"
  done
  # The files with notices of others are those that it names.
  sed -n 's/^\(Files:\)\{0,1\} \(tests\/.*\)/\2/p' "$SDPA_SOURCE/COPYRIGHT" |
    LC_ALL=C sort >"$SDPA_WORK/listed"
  cd "$SDPA_SOURCE" || exit 1
  grep -rlE 'Copyright (\(c\) )?[12]' bench docs include src tests --include='*.[ch]' |
    LC_ALL=C sort | diff "$SDPA_WORK/listed" - >&2 ||
    fail "other files have notices (>) than COPYRIGHT names (<)"
  needs_dpkg
  for package in $packages; do
    run dpkg-deb -x "$(deb "$package")" "$SDPA_WORK/$package"
    cmp "$SDPA_SOURCE/COPYRIGHT" "$SDPA_WORK/$package/usr/share/doc/$package/copyright" ||
      fail "the copyright of $package"
  done
  ;;
fields)
  needs_dpkg
  # Above the solver's package of the name libsdpa-dev, and below what Debian would call its own first one.
  version=$(field libsdpa0 Version)
  run dpkg --compare-versions "$version" gt 7.3.16+dfsg-1
  run dpkg --compare-versions "$version" lt "1:$SDPA_VERSION-1"
  for package in $packages; do
    test "$(field "$package" Version)" = "$version" || fail "$package has another version than $version"
    test "$(field "$package" Source)" = libsdpa || fail "$package is of source $(field "$package" Source)"
    test "$(field "$package" Homepage)" = "" || fail "$package has a home page"
    field "$package" Maintainer | grep -qE '^[^<]+ <[^ @]+@[^ @]+>$' || fail "$package: $(field "$package" Maintainer)"
  done
  test "$(field libsdpa0 Multi-Arch)" = same || fail "libsdpa0 is not Multi-Arch: same"
  test "$(field libsdpa-dev Multi-Arch)" = same || fail "libsdpa-dev is not Multi-Arch: same"
  test "$(field sdpa-tools Multi-Arch)" = no || fail "sdpa-tools cannot be installed for two architectures"
  field libsdpa0 Depends | grep -q 'libc6 (>= ' || fail "libsdpa0: $(field libsdpa0 Depends)"
  field sdpa-tools Depends | grep -q 'libc6 (>= ' || fail "sdpa-tools: $(field sdpa-tools Depends)"
  field sdpa-tools Depends | grep -qF "libsdpa0 (>= $version)" ||
    fail "sdpa-tools needs no libsdpa0"
  field libsdpa-dev Depends | grep -qF "libsdpa0 (= $version)" || fail "libsdpa-dev: $(field libsdpa-dev Depends)"
  field libsdpa-dev Conflicts | grep -qw sdpam || fail "libsdpa-dev can stand in for the solver's"
  run dpkg-deb -I "$(deb libsdpa0)" shlibs
  says "libsdpa 0 libsdpa0 (>= $version)"
  run dpkg-deb -I "$(deb libsdpa0)" triggers
  says "activate-noawait ldconfig"
  refused "contains no control component 'postinst'" dpkg-deb -I "$(deb libsdpa0)" postinst
  ;;
symbols)
  # A version for each symbol that the library exports, by which dpkg knows what a program needs.
  needs_dpkg
  command -v dpkg-gensymbols >/dev/null || skip "there is no dpkg-gensymbols"
  dpkg-deb -I "$(deb libsdpa0)" symbols >"$SDPA_WORK/symbols" || fail "libsdpa0 has no symbols file"
  grep -qx ' sdpa_merge@SDPA_0.2 1:0.2.0' "$SDPA_WORK/symbols" || fail "the version of sdpa_merge"
  run dpkg-deb -x "$(deb libsdpa0)" "$SDPA_WORK/tree"
  cd "$SDPA_WORK" || exit 1
  # -c4: nothing missing, nothing new.
  run dpkg-gensymbols -c4 -v"$(field libsdpa0 Version)" -plibsdpa0 -Ptree -Isymbols -Oread \
    "-e$(echo tree/usr/lib/*/libsdpa.so.*.*)"
  diff symbols read >&2 || fail "the symbols file (<) is not that of the library (>)"
  ;;
files)
  needs_dpkg
  for package in $packages; do
    mkdir "$SDPA_WORK/$package"
    run dpkg-deb -x "$(deb "$package")" "$SDPA_WORK/$package"
    (cd "$SDPA_WORK/$package" && find . ! -type d | sort) >>"$SDPA_WORK/all"
    cd "$SDPA_WORK/$package/usr/share/doc/$package" || exit 1
    test "$(ls ..)" = "$package" || fail "$package has documents of $(ls ..)"
    find . ! -type d ! -path './html/*' | sort >"$SDPA_WORK/doc"
    {
      printf './%s\n' changelog.Debian.gz changelog.gz copyright
      cd "$SDPA_SOURCE/docs" || exit 1
      test $package != libsdpa-dev ||
        find ./*.md ./pictures ./examples ./lesson/README.md -type f \
          ! -name CMakeLists.txt ! -name '*.pyc'
    } | sort | diff - "$SDPA_WORK/doc" >&2 || fail "the documents of $package"
    gzip -dc "$SDPA_WORK/$package/usr/share/doc/$package/changelog.gz" | cmp - "$SDPA_SOURCE/docs/changelog.md"
    if find "$SDPA_WORK/$package" -path '*/man/*' ! -type d ! -name '*.gz' | grep . >&2; then fail "not compressed"; fi
    # Names of one page lead to it.
    if find -L "$SDPA_WORK/$package" -path '*/man/*' -type l | grep . >&2; then fail "links to nowhere"; fi
  done
  run cat "$SDPA_WORK"/libsdpa-dev/usr/lib/*/pkgconfig/sdpa.pc
  says "prefix=/usr libdir="
  if sort "$SDPA_WORK/all" | uniq -d | grep . >&2; then fail "files of two packages"; fi
  # Debian's package sdpa, the solver's program, has these.
  if grep -E '^\./usr/(bin/sdpa|share/man/man1/sdpa\.1\.gz|share/sdpa/.*|share/doc/sdpa/.*)$' \
    "$SDPA_WORK/all" >&2; then
    fail "files of Debian's package sdpa"
  fi
  for program in "$SDPA_WORK"/sdpa-tools/usr/bin/* "$SDPA_WORK"/libsdpa0/usr/lib/*/libsdpa.so.*.*; do
    run readelf -WSd "$program"
    never_says '.symtab'
    never_says RUNPATH
    says NOW
  done
  for program in bench lesson; do
    needed "$SDPA_WORK/sdpa-tools/usr/bin/sdpa-$program" | grep -qx 'libsdpa\.so\.0' ||
      fail "sdpa-$program holds the library"
  done
  # What the pages of the programs refer to is in libsdpa-dev or beside them.
  zcat "$SDPA_WORK"/sdpa-tools/usr/share/man/man1/*.gz | sed -n 's/^\.\(It \)\{0,1\}Pa //p' |
    sort -u >"$SDPA_WORK/named"
  test "$(wc -l <"$SDPA_WORK/named")" = 4 || fail "the pages of the programs name other files"
  while read -r name; do
    # shellcheck disable=SC2086 # a pattern
    ls "$SDPA_WORK"/*$name >/dev/null || fail "no package has $name"
  done <"$SDPA_WORK/named"
  # What the components install is what the packages hold, but for documents.
  run env DESTDIR="$SDPA_WORK/whole" "$SDPA_CMAKE" --install "$SDPA_BUILD"
  (cd "$SDPA_WORK/whole" && find . ! -type d ! -path '*/share/doc/*' | sed '/\/man\//s/$/.gz/' | sort) >"$SDPA_WORK/installed"
  grep -v '/share/doc/' "$SDPA_WORK/all" | sort | diff - "$SDPA_WORK/installed" >&2 ||
    fail "the packages are not the whole install"
  ;;
lintian)
  command -v lintian >/dev/null || skip "there is no lintian"
  # shellcheck disable=SC2046 # three files
  run lintian --allow-root --fail-on error,warning --tag-display-limit 0 $(for package in $packages; do deb "$package"; done)
  never_says ': '
  ;;
archive)
  run tar -xzf "$(archive_of tree)" -C "$SDPA_WORK"
  mv "$SDPA_WORK/libsdpa-$SDPA_VERSION"-* "$SDPA_WORK/moved here"
  tree="$SDPA_WORK/moved here"
  # shellcheck disable=SC2034 # configure_consumer reads it
  prefix=$tree
  for kind in shared static; do
    run configure_consumer "$SDPA_WORK/$kind" "-DREQUEST=REQUIRED;COMPONENTS;$kind" -DLINK=sdpa::$kind
    says "from $tree/"
    build_and_run "$SDPA_WORK/$kind"
  done
  for text in LICENSE COPYRIGHT; do
    cmp "$SDPA_SOURCE/$text" "$tree/share/doc/libsdpa/$text" || fail "the archive has no $text"
  done
  run "$tree/bin/sdpa-bench" --accuracy --problem f32:q3:k3:d4
  if grep -raF "$SDPA_BUILD" "$tree" | grep . >&2; then fail "the archive names $SDPA_BUILD"; fi
  ;;
sources)
  # In a checkout the archive holds what git names, as it stands there, and nothing that lies beside
  # it; without git's folder everything but builds. cpack needs the configured tree alone.
  command -v git >/dev/null || skip "there is no git"
  test -e "$SDPA_SOURCE/.git" || skip "the sources are no checkout"
  tracked() {
    git -c safe.directory="$SDPA_SOURCE" -c core.quotePath=false -C "$SDPA_SOURCE" ls-files "$@"
  }
  test -z "$(tracked --deleted)" || skip "files of the checkout are deleted"
  # listed ARCHIVE
  listed() {
    tar -tzf "$1" | sed "s|^libsdpa-$SDPA_VERSION/||; /\/\$/d; /^\$/d" | LC_ALL=C sort
  }
  tracked | LC_ALL=C sort >"$SDPA_WORK/tracked"
  test "$(wc -l <"$SDPA_WORK/tracked")" -gt 500 || fail "git names too few files"
  listed "$(archive_of source)" | diff "$SDPA_WORK/tracked" - >&2 ||
    fail "the archive (>) is not what git names (<)"
  copy="$SDPA_WORK/a copy"
  mkdir -p "$copy" && tar -xzf "$(archive_of source)" -C "$copy" --strip-components=1
  git init -q "$copy"
  git -C "$copy" add -A
  mkdir "$copy/found" "$copy/docs/notes"
  for extra in found/crash docs/notes/secret.txt mailbox; do
    echo "not published" >"$copy/$extra"
  done
  echo "changed, not committed" >>"$copy/docs/changelog.md"
  git -C "$copy" -c core.quotePath=false ls-files | LC_ALL=C sort |
    diff "$SDPA_WORK/tracked" - >&2 || fail "the copy is not the checkout"
  run "$SDPA_CMAKE" -S "$copy" -B "$copy/build/package" -G "$SDPA_GENERATOR" \
    -DCMAKE_C_COMPILER="$SDPA_CC" -DSDPA_WITH_BLAS=OFF -DSDPA_BUILD_TESTS=OFF
  run "$cpack" --config "$copy/build/package/CPackSourceConfig.cmake"
  archive=$copy/build/package/packages/libsdpa-$SDPA_VERSION.tar.gz
  listed "$archive" | diff "$SDPA_WORK/tracked" - >&2 ||
    fail "the archive (>) is not what git names (<)"
  run tar -xzOf "$archive" "libsdpa-$SDPA_VERSION/docs/changelog.md"
  says "changed, not committed"
  rm -rf "$copy/.git"
  run "$cpack" --config "$copy/build/package/CPackSourceConfig.cmake"
  printf '%s\n' docs/notes/secret.txt mailbox |
    LC_ALL=C sort - "$SDPA_WORK/tracked" >"$SDPA_WORK/all"
  listed "$archive" | diff "$SDPA_WORK/all" - >&2 ||
    fail "without git the archive (>) is not the folder (<)"
  ;;
architecture)
  # The packages are for what the compiler makes code for, in their fields and names, in a cross
  # build too.
  needs_dpkg
  own=$(dpkg --print-architecture)
  for package in $packages; do
    test "$(field "$package" Architecture)" = "$own" || fail "$package is not for $own"
    case $(deb "$package") in
    *"_$own.deb") ;;
    *) fail "the name of $(deb "$package")" ;;
    esac
  done
  refused "Debian's name of the architecture is not known" "$cpack" -G DEB -B "$SDPA_WORK/none" \
    --config "$SDPA_BUILD/CPackConfig.cmake" -D CPACK_DEBIAN_PACKAGE_ARCHITECTURE=unknown
  command -v dpkg-architecture >/dev/null || skip "there is no dpkg-architecture"
  for gnu in aarch64 i686 powerpc64le s390x; do
    command -v $gnu-linux-gnu-gcc >/dev/null || continue
    toolchain=$gnu
    test $gnu = i686 && toolchain=i386
    test $gnu = powerpc64le && toolchain=ppc64le
    run configure_library "$SDPA_SOURCE" "$SDPA_WORK/$gnu" -DCMAKE_C_COMPILER=$gnu-linux-gnu-gcc \
      -DCMAKE_TOOLCHAIN_FILE="$SDPA_SOURCE/cmake/toolchain-$toolchain.cmake" -DSDPA_WITH_BLAS=OFF
    debian=$(dpkg-architecture -t $gnu-linux-gnu -q DEB_TARGET_ARCH)
    run cat "$SDPA_WORK/$gnu/CPackConfig.cmake"
    says "CPACK_DEBIAN_PACKAGE_ARCHITECTURE \"$debian\""
    says "libsdpa0_$SDPA_VERSION-0upstream1_$debian.deb"
  done
  ;;
again)
  # From the source archive, in another folder whose name has a space, with another umask and in another
  # time zone: the same bytes.
  run tar -xzf "$(archive_of source)" -C "$SDPA_WORK"
  other="$SDPA_WORK/another folder"
  mv "$SDPA_WORK/libsdpa-$SDPA_VERSION" "$other"
  packager=$(sed -n 's/^SDPA_PACKAGER:STRING=//p' "$SDPA_BUILD/CMakeCache.txt")
  cd "$other" || exit 1
  umask 077
  TZ=Pacific/Apia
  export TZ
  run "$SDPA_CMAKE" --preset package -DSDPA_PACKAGER="$packager" -DCMAKE_C_COMPILER="$SDPA_CC"
  run "$SDPA_CMAKE" --build --preset package -j 2
  run "$cpack" --preset package
  run "$cpack" --preset package-source
  for file in "src/libsdpa.so.$SDPA_VERSION" src/libsdpa.a bench/sdpa-bench docs/lesson/sdpa-lesson; do
    same "$file"
  done
  diff -r "$made" "$other/build/package/packages" >&2 || fail "two builds make different packages"
  test "$(find "$other/build/package/packages" -type f | wc -l)" = 5 || fail "there are not five packages"
  ;;
debian) . "$(dirname "$0")/debian_root.sh" ;;
*) fail "unknown case $1" ;;
esac

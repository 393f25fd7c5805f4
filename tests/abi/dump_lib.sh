# What check_dump.sh and update_dump.sh share: the ABI as libabigail sees it.

# dump_abi COMPILER SOURCE FOLDER: writes FOLDER/abi, the public functions and types of the source
# tree SOURCE. All public functions are in src/api, so these files alone are built, without
# optimisation, with debug information and the version script;
# what they call inside the library stays undefined.
dump_abi() {
  rm -rf "$3"
  mkdir -p "$3"
  for dump_file in "$2"/src/api/*.c; do
    "$1" -std=c11 -O0 -g -fPIC -fvisibility=hidden "-I$2/include" "-I$2/src" -c "$dump_file" \
      -o "$3/$(basename "$dump_file" .c).o" || return 1
  done
  dump_major=$(sed -n 's/^#define SDPA_VERSION_MAJOR //p' "$2/include/sdpa/sdpa.h")
  "$1" -shared "$3"/*.o -o "$3/libsdpa.so" "-Wl,-soname,libsdpa.so.$dump_major" \
    "-Wl,--version-script=$2/src/libsdpa.map" -Wl,--no-undefined-version || return 1
  # Types of the public header only, and nothing that names a place or the machine.
  abidw --headers-dir "$2/include" --drop-private-types --drop-undefined-syms --no-show-locs \
    --short-locs --no-corpus-path --no-comp-dir-path --no-elf-needed --no-parameter-names \
    --out-file "$3/abi" "$3/libsdpa.so"
}

# dump_of COMPILER: the name of the kept dump for the compiler's target.
dump_of() {
  dump_target=$("$1" -dumpmachine)
  printf 'libsdpa_%s.abi\n' "${dump_target%%-*}"
}

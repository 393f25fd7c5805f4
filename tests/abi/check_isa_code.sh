# check_isa_code.sh BINARY OBJECTS: outside the functions of the per-ISA kernel files, whose objects
# lie below OBJECTS, no instruction of BINARY needs more than the baseline CPU. Link-time
# optimisation or an inline function in a shared header could move one.
. "$(dirname "$0")/../install/install_lib.sh"
binary=$1
objects=$2
case $(uname -m) in
x86_64 | amd64) ;;
*) skip "only x86-64 has kernel files with flags of their own" ;;
esac
test -d "$objects" || skip "this generator's object folder is not known"
echo | "$SDPA_CC" $SDPA_FLAGS -dM -E -x c - | grep -q __AVX__ &&
  skip "the compiler's baseline has AVX"

nm --defined-only "$objects"/kernels/x86/*.o | awk '$2 ~ /[tT]/ { print $3 }' |
  sort -u >"$SDPA_WORK/kernels"
grep -q avx512 "$SDPA_WORK/kernels" || fail "no kernel was found below $objects"

# VEX and EVEX encodings: ymm, zmm, tile and mask registers, and mnemonics with a v on xmm. CPU
# detection executes xgetbv, which names none of them.
# Names that also occur in baseline files are none of the kernels' own.
objdump -d --no-show-raw-insn "$binary" | awk '
  /^[0-9a-f]+ <.*>:$/ { name = $2; gsub(/[<>:]/, "", name); next }
  /%[tyz]mm|%k[0-7]/ || ($2 ~ /^v/ && /%xmm/) { print name }' | sort -u >"$SDPA_WORK/users"
grep -q avx512 "$SDPA_WORK/users" || fail "the disassembly shows no AVX-512 code at all"
if comm -23 "$SDPA_WORK/users" "$SDPA_WORK/kernels" | grep . >&2; then
  fail "the functions above hold AVX code outside the kernel files"
fi
find "$objects" -name '*.o' ! -path '*/kernels/x86/*' -exec nm --defined-only {} + |
  awk '$2 ~ /[tT]/ { print $3 }' | sort -u >"$SDPA_WORK/others"
if comm -12 "$SDPA_WORK/users" "$SDPA_WORK/others" |
  grep -vE '^_?sub_I|^_(GLOBAL__)?sub_[ID]_' >&2; then
  fail "the names above are used by kernel files and by others: this test could not tell them apart"
fi

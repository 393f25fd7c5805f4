# Warnings for the project's own targets. They become errors only with SDPA_WERROR, which the presets
# for developers set: a user's newer compiler must not fail over a new warning. -Wdouble-promotion of
# clang also complains of NAN and INFINITY, which are floats, where a double is wanted, as tests do all
# the time: with clang only src/ has it. -Wconversion is off where lines are counted: without optimisation
# GCC's AVX-512 operations are macros, which convert -1 to a mask in the caller's line.
set(sdpa_warnings -Wall -Wextra -pedantic -Wshadow -Wpointer-arith -Wstrict-prototypes -Wmissing-prototypes
    -Wcast-qual -Wwrite-strings -Wundef -Wvla -Wformat=2
    $<$<NOT:$<BOOL:${SDPA_COVERAGE}>>:-Wconversion>
    $<$<C_COMPILER_ID:GNU>:-Wdouble-promotion>)

# Language level, warnings and floating-point rules of one target of the project. No contraction: FMA
# is written where it is meant, so that one source gives one result on every compiler. No excess
# precision: with -std=c11 gcc evaluates float in double on s390x, though the machine computes in float.
function(sdpa_target_defaults target)
  set_target_properties(${target} PROPERTIES C_STANDARD 11 C_STANDARD_REQUIRED ON C_EXTENSIONS OFF)
  target_compile_options(${target} PRIVATE ${sdpa_warnings} -ffp-contract=off
    $<$<COMPILE_LANG_AND_ID:C,GNU>:-fexcess-precision=fast>
    $<$<BOOL:${SDPA_WERROR}>:-Werror>)
  sdpa_target_sanitize(${target})
endfunction()

# Warnings for the project's own targets. They become errors only with SDPA_WERROR, which the presets
# for developers set: a user's newer compiler must not fail over a new warning.
set(sdpa_warnings -Wall -Wextra -Wshadow -Wpointer-arith -Wstrict-prototypes -Wmissing-prototypes
    -Wcast-qual -Wwrite-strings -Wundef -Wvla -Wdouble-promotion -Wformat=2)

# Language level, warnings and floating-point rules of one target of the project. No contraction: FMA
# is written where it is meant, so that one source gives one result on every compiler.
function(sdpa_target_defaults target)
  target_compile_features(${target} PRIVATE c_std_11)
  set_target_properties(${target} PROPERTIES C_EXTENSIONS OFF)
  target_compile_options(${target} PRIVATE ${sdpa_warnings} -ffp-contract=off
    $<$<BOOL:${SDPA_WERROR}>:-Werror>)
  sdpa_target_sanitize(${target})
endfunction()

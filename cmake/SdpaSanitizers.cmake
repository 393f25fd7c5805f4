# AddressSanitizer and UndefinedBehaviorSanitizer for the project's own targets (SDPA_SANITIZE).
function(sdpa_target_sanitize target)
  if(SDPA_SANITIZE)
    set(flags -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer)
    target_compile_options(${target} PRIVATE ${flags})
    target_link_options(${target} PUBLIC ${flags})
  endif()
endfunction()

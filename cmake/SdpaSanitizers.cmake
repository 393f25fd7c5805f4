# Sanitizers for the project's own targets (SDPA_SANITIZE): AddressSanitizer and UndefinedBehaviorSanitizer,
# or with the value "thread" ThreadSanitizer, which cannot be combined with them. With SDPA_BUILD_FUZZERS all
# targets also count their edges and comparisons: that is what guides libFuzzer.
function(sdpa_target_sanitize target)
  if(SDPA_SANITIZE)
    set(flags -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer)
    if(SDPA_SANITIZE STREQUAL "thread")
      set(flags -fsanitize=thread -fno-omit-frame-pointer)
    endif()
    if(SDPA_BUILD_FUZZERS)
      list(APPEND flags -fsanitize=fuzzer-no-link)
    endif()
    target_compile_options(${target} PRIVATE ${flags})
    target_link_options(${target} PUBLIC ${flags})
  endif()
endfunction()

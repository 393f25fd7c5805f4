# Sanitizers for the project's own targets (SDPA_SANITIZE): AddressSanitizer and UndefinedBehaviorSanitizer,
# or with the value "thread" ThreadSanitizer, which cannot be combined with them.
function(sdpa_target_sanitize target)
  if(SDPA_SANITIZE)
    set(flags -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer)
    if(SDPA_SANITIZE STREQUAL "thread")
      set(flags -fsanitize=thread -fno-omit-frame-pointer)
    endif()
    target_compile_options(${target} PRIVATE ${flags})
    target_link_options(${target} PUBLIC ${flags})
  endif()
endfunction()

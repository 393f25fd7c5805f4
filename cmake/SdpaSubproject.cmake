# As a subproject the library leaves nothing in its parent's cache but its own SDPA_... options and what
# project() notes under its name.

# sdpa_forget_new_entries(<pattern> <entry...>): removes the cache entries of other names than SDPA_... that
# match the pattern and are not among those listed, which were there before.
function(sdpa_forget_new_entries pattern)
  if(PROJECT_IS_TOP_LEVEL)
    return()
  endif()
  get_property(entries DIRECTORY PROPERTY CACHE_VARIABLES)
  foreach(entry IN LISTS entries)
    if(entry MATCHES "${pattern}" AND NOT entry MATCHES "^SDPA_" AND NOT entry IN_LIST ARGN)
      unset(${entry} CACHE)
    endif()
  endforeach()
endfunction()

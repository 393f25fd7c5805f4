# Threads are made of mutexes, condition variables and C11 atomics: no fence and no futex, which ThreadSanitizer
# does not follow; no thread-local data, whose destructors outlive dlclose(); no OpenMP runtime, which hangs
# after fork(); no compiler-specific atomics; no system call by number but the one that asks for the use of
# tiles, which the C library has no function for. Run with -DSOURCE_DIR=<top>.
cmake_minimum_required(VERSION 3.25)

set(forbidden "atomic_thread_fence|atomic_signal_fence|__sync_|__atomic_|futex|syscall *\\(|pthread_key_create"
  "|tss_create|_Thread_local|thread_local|__thread|__cxa_thread_atexit|pthread_exit *\\(|pthread_barrier"
  "|pthread_spin|sem_(init|wait|post)|# *pragma +omp|<omp.h>|<threads.h>")
list(JOIN forbidden "" forbidden)

set(faults "")
set(count 0)
file(GLOB_RECURSE files RELATIVE "${SOURCE_DIR}" "${SOURCE_DIR}/src/*.[ch]")
foreach(file IN LISTS files)
  math(EXPR count "${count} + 1")
  file(READ "${SOURCE_DIR}/${file}" text)
  # Comments may name what the code does not use.
  string(REGEX REPLACE "/\\*([^*]|\\*+[^*/])*\\*+/" "" text "${text}")
  string(REPLACE "syscall(SYS_arch_prctl," "" text "${text}")
  string(REGEX MATCHALL "${forbidden}" found "${text}")
  if(found)
    list(REMOVE_DUPLICATES found)
    list(APPEND faults "${file} uses ${found}")
  endif()
endforeach()

file(READ "${SOURCE_DIR}/src/runtime/pool.c" pool)
if(count LESS 20 OR NOT pool MATCHES "pthread_cond_wait" OR NOT "x = __sync_add(y)" MATCHES "${forbidden}")
  message(FATAL_ERROR "the check is broken: ${count} files under ${SOURCE_DIR}/src")
endif()
if(faults)
  list(JOIN faults "\n  " faults)
  message(FATAL_ERROR "Thread primitives:\n  ${faults}")
endif()
message(STATUS "${count} files use the permitted thread primitives alone")

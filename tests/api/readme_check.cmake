# Runs `program` and compares what it prints with the file `expected`.
file(READ "${expected}" wanted)
execute_process(COMMAND "${program}" OUTPUT_VARIABLE printed ERROR_VARIABLE complained RESULT_VARIABLE result)
if(NOT result STREQUAL "0" OR NOT complained STREQUAL "")
  message(FATAL_ERROR "The example of README.md ended with ${result}: ${complained}")
endif()
if(NOT printed STREQUAL wanted)
  message(FATAL_ERROR "The example of README.md printed\n${printed}instead of\n${wanted}")
endif()

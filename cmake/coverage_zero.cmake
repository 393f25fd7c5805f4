# Removes the counts that programs left under BUILD_DIR. Run with -DBUILD_DIR=<build folder>.
cmake_minimum_required(VERSION 3.25)

file(GLOB_RECURSE counts "${BUILD_DIR}/*.gcda")
foreach(file IN LISTS counts)
  file(REMOVE "${file}")
endforeach()

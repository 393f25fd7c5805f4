# The packages that README.md installs are those that .ci/run installs, in the same order.
# Run with -DSOURCE_DIR=<top>.
cmake_minimum_required(VERSION 3.25)

file(READ "${SOURCE_DIR}/README.md" readme)
file(READ "${SOURCE_DIR}/.ci/run" ci)
if(NOT readme MATCHES "apt-get install -y ([a-z0-9+. -]+) &&")
  message(FATAL_ERROR "README.md has no line \"apt-get install -y <packages> && ...\": the check is broken")
endif()
set(readme_packages "${CMAKE_MATCH_1}")
if(NOT ci MATCHES "\npackages=\"([a-z0-9+. -]+)\"")
  message(FATAL_ERROR ".ci/run has no line packages=\"...\": the check is broken")
endif()
set(ci_packages "${CMAKE_MATCH_1}")
if(NOT readme_packages STREQUAL ci_packages)
  message(FATAL_ERROR "README.md installs\n  ${readme_packages}\n.ci/run\n  ${ci_packages}")
endif()
message(STATUS "README.md and .ci/run install ${ci_packages}")

# Helpers for the folders' targets.

# A folder of the library: sources *.cpp in its rooms, public headers under include/nlsq, internal headers beside
# their sources, included by their path from the folder. It may see the headers of the folders named after it, and
# no others. Parts with a target of their own are left out.
function(nlsq_folder name)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/*.cpp")
  list(FILTER sources EXCLUDE REGEX "^${CMAKE_CURRENT_SOURCE_DIR}/(kernels|ceres)/")  # with flags of their own
  add_library(${name} OBJECT ${sources})
  target_include_directories(${name} PUBLIC
    $<BUILD_INTERFACE:${CMAKE_CURRENT_SOURCE_DIR}/include>
    PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
  foreach(below ${ARGN})
    string(REPLACE nlsq_ "" folder ${below})
    target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/${folder})
  endforeach()
  target_link_libraries(${name} PUBLIC ${ARGN} PRIVATE nlsq_fmt_headers)
  nlsq_flags(${name})
endfunction()

# Warnings and the arithmetic every file is compiled with: no contraction that the source does not
# spell out. A project that adds nlsq without choosing a build type still gets an optimised library.
function(nlsq_flags name)
  target_compile_options(${name} PRIVATE -Wall -Wextra -Wconversion -Wno-sign-conversion -ffp-contract=off
    $<$<CONFIG:>:-O3>)
  if(NLSQ_BUILD_FUZZERS AND name MATCHES "^nlsq_kernels_")
    return()  # no fuzzer runs kernels, and instrumented they take Clang ten minutes
  endif()
  if(NLSQ_SANITIZE)
    target_compile_options(${name} PRIVATE -fsanitize=${NLSQ_SANITIZE} -fno-sanitize-recover=all
      -fno-omit-frame-pointer)
    target_link_options(${name} PRIVATE -fsanitize=${NLSQ_SANITIZE})
  endif()
  if(NLSQ_BUILD_FUZZERS)
    target_compile_options(${name} PRIVATE -fsanitize=fuzzer-no-link)
  endif()
  if(NLSQ_COVERAGE)
    target_compile_options(${name} PRIVATE --coverage)
    target_link_options(${name} PRIVATE --coverage)
  endif()
endfunction()

# The one library users link.
function(nlsq_library name)
  set(objects)
  set(includes)
  foreach(folder ${ARGN})
    list(APPEND objects $<TARGET_OBJECTS:${folder}>)
    get_target_property(dirs ${folder} INTERFACE_INCLUDE_DIRECTORIES)
    list(APPEND includes ${dirs})
  endforeach()
  add_library(${name} ${objects} ${NLSQ_KERNEL_OBJECTS} ${NLSQ_FMT_OBJECTS})
  add_library(nlsq::${name} ALIAS ${name})
  set_target_properties(${name} PROPERTIES
    VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR} LINKER_LANGUAGE CXX)
  target_include_directories(${name} PUBLIC ${includes} $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  target_compile_features(${name} PUBLIC cxx_std_20)
  target_link_libraries(${name} PRIVATE ${NLSQ_PRIVATE_LIBRARIES})
  if(NLSQ_SANITIZE)
    target_link_options(${name} PUBLIC $<BUILD_INTERFACE:-fsanitize=${NLSQ_SANITIZE}>)
  endif()
  if(NLSQ_COVERAGE)
    target_link_options(${name} PUBLIC $<BUILD_INTERFACE:--coverage>)
  endif()
endfunction()

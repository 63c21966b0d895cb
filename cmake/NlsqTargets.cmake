# Defines functions that make the targets of the folders.

# Parsing the standard's headers is half of the work for most files, so they are parsed once. Some presets
# switch this off, and thereby check that every file includes what it uses.
option(NLSQ_PRECOMPILE_HEADERS "Parse the headers that most files include once" ON)
set(NLSQ_PRECOMPILED_SOURCE "${CMAKE_CURRENT_LIST_DIR}/precompiled.cpp")
set(NLSQ_STANDARD_HEADERS <algorithm> <array> <atomic> <bit> <chrono> <cmath> <cstddef> <cstdint> <cstring> <functional>
    <limits> <map> <memory> <mutex> <numbers> <numeric> <optional> <span> <stdexcept> <string> <string_view> <tuple>
    <type_traits> <unordered_map> <utility> <variant> <vector>)

# nlsq_precompiled(NAME HEADER…) lets an existing target own precompiled headers. Other targets share them by
# nlsq_use_precompiled(TARGET NAME) if they are compiled with the same flags; only the level of optimisation
# may differ.
function(nlsq_precompiled name)
  nlsq_flags(${name})
  if(NLSQ_PRECOMPILE_HEADERS)
    target_precompile_headers(${name} PRIVATE ${ARGN})
    # ccache is not used here, because it takes headers that differ only in comments as the same. The compiler
    # would then use an old precompiled header, see that an included file is not the one in it, and define
    # everything twice.
    set_target_properties(${name} PROPERTIES CXX_COMPILER_LAUNCHER "")
  endif()
endfunction()
function(nlsq_use_precompiled name from)
  if(NLSQ_PRECOMPILE_HEADERS AND TARGET ${from})
    target_precompile_headers(${name} REUSE_FROM ${from})
    if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
      target_compile_options(${name} PRIVATE -fpch-preprocess)  # for ccache
    endif()
  endif()
endfunction()

# nlsq_optimise(TARGET LEVEL NAME…) compiles the target's files of these names at LEVEL in place of -O3, wherever they lie. It
# is for files that run at most once a fit and never once a row. At -O1 they compile in a third less time, and at -Og in half
# the time. The command uses -Og. The library uses -O1, because -Og makes small fits two percent slower.
function(nlsq_optimise target level)
  get_target_property(sources ${target} SOURCES)
  foreach(name ${ARGN})
    set(files ${sources})
    list(FILTER files INCLUDE REGEX "(^|/)${name}[.]cpp$")
    if(NOT files)
      message(FATAL_ERROR "nlsq_optimise(${target}): no file ${name}.cpp")
    endif()
    set_property(SOURCE ${files} APPEND PROPERTY COMPILE_OPTIONS $<$<CONFIG:Release>:${level}>)
  endforeach()
endfunction()

# nlsq_folder(NAME BELOW…) makes the target of a folder of the library. Its sources lie in subfolders. Public
# headers are under include/nlsq; internal headers lie beside their sources and are included by their path
# from the folder. The target sees the headers of the folders named after it, and no others. Parts with a
# target of their own are left out.
function(nlsq_folder name)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS RELATIVE "${CMAKE_CURRENT_SOURCE_DIR}" "${CMAKE_CURRENT_SOURCE_DIR}/*.cpp")
  list(FILTER sources EXCLUDE REGEX "^(kernels|ceres|mpi|c)/")  # these have targets of their own
  add_library(${name} OBJECT ${sources})
  nlsq_use_precompiled(${name} nlsq_library_precompiled)
  target_include_directories(${name} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
  if(EXISTS "${CMAKE_CURRENT_SOURCE_DIR}/include")
    target_include_directories(${name} PUBLIC $<BUILD_INTERFACE:${CMAKE_CURRENT_SOURCE_DIR}/include>)
  endif()
  foreach(below ${ARGN})
    string(REPLACE nlsq_ "" folder ${below})
    target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/${folder})
  endforeach()
  target_link_libraries(${name} PUBLIC ${ARGN} PRIVATE nlsq_fmt_headers)
  nlsq_flags(${name})
endfunction()

# GCC looks for memory to reuse each time that its heap has doubled, which takes a tenth of its time. It never
# finds much in our files, so it may use a gigabyte before it looks. Files then take a third more memory, and
# a gigabyte at most.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  set(NLSQ_COLLECT_LATE --param=ggc-min-heapsize=1000000)
endif()

# Sets the warnings and the arithmetic with which every file is compiled. The compiler must not contract
# operations that the source does not contract. A project that adds nlsq without choosing a build type still
# gets an optimised library.
function(nlsq_flags name)
  target_compile_options(${name} PRIVATE -Wall -Wextra -Wconversion -Wno-sign-conversion -ffp-contract=off
    $<$<CONFIG:>:-O3> ${NLSQ_COLLECT_LATE})
  if(NLSQ_BUILD_FUZZERS AND name MATCHES "^nlsq_kernels_")
    return()  # no fuzzer runs kernels, and Clang takes ten minutes to instrument them
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

# nlsq_library(NAME FOLDER…) makes a library of these folders.
function(nlsq_library name)
  set(objects)
  set(includes)
  foreach(folder ${ARGN})
    list(APPEND objects $<TARGET_OBJECTS:${folder}>)
    get_target_property(dirs ${folder} INTERFACE_INCLUDE_DIRECTORIES)
    if(dirs)
      list(APPEND includes ${dirs})
    endif()
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

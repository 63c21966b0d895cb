# Finds the dependencies of the library. Public headers show none of them. All but SLEEF and oneTBB are used
# as headers only, so a program that links the static library needs only those two beside it.
list(APPEND CMAKE_MODULE_PATH "${CMAKE_CURRENT_LIST_DIR}")

find_package(fmt REQUIRED)     # messages; as nlsq_fmt, below
find_package(Eigen3 REQUIRED)  # solver/: factorisations
find_package(SLEEF REQUIRED)   # jacobian/kernels: vector elementary functions; SLEEF::sleef

# oneTBB provides threads. Without it every fit runs on the calling thread, with the same bits.
option(NLSQ_WITH_TBB "Use oneTBB for threads" ON)
if(NLSQ_WITH_TBB)
  find_package(TBB REQUIRED)
endif()

# The library's folders use fmt as nlsq_fmt_headers, and programs use it as nlsq_fmt. fmt_once.cpp compiles
# its implementation once, into the library, in a namespace of our own. Versions of fmt for which this was not
# tried are used as headers only. That compiles more slowly but is otherwise the same.
if(NOT TARGET nlsq_fmt)
  add_library(nlsq_fmt_headers INTERFACE)
  add_library(nlsq_fmt INTERFACE)
  if(fmt_VERSION VERSION_GREATER_EQUAL 9 AND fmt_VERSION VERSION_LESS 10)
    target_include_directories(nlsq_fmt_headers SYSTEM INTERFACE
      $<TARGET_PROPERTY:fmt::fmt,INTERFACE_INCLUDE_DIRECTORIES>)
    target_compile_definitions(nlsq_fmt_headers INTERFACE
      "FMT_BEGIN_NAMESPACE=namespace fmt { inline namespace nlsq_v9 {" "FMT_END_NAMESPACE=}}")
    add_library(nlsq_fmt_objects OBJECT "${CMAKE_CURRENT_LIST_DIR}/fmt_once.cpp")
    target_link_libraries(nlsq_fmt_objects PRIVATE nlsq_fmt_headers)
    target_compile_options(nlsq_fmt_objects PRIVATE $<$<CONFIG:>:-O3>)
    add_library(nlsq_fmt_archive STATIC $<TARGET_OBJECTS:nlsq_fmt_objects>)
    set_target_properties(nlsq_fmt_archive PROPERTIES LINKER_LANGUAGE CXX)
    target_link_libraries(nlsq_fmt INTERFACE nlsq_fmt_headers nlsq_fmt_archive)
    set(NLSQ_FMT_OBJECTS $<TARGET_OBJECTS:nlsq_fmt_objects>)
  else()
    target_link_libraries(nlsq_fmt_headers INTERFACE fmt::fmt-header-only)
    target_link_libraries(nlsq_fmt INTERFACE fmt::fmt-header-only)
  endif()
endif()

# Only the headers of Highway are used. Kernels are compiled once per instruction set (static dispatch), so no
# part of its library is linked.
find_path(NLSQ_HIGHWAY_INCLUDE_DIR hwy/highway.h REQUIRED)
mark_as_advanced(NLSQ_HIGHWAY_INCLUDE_DIR)
if(NOT TARGET nlsq_highway)
  add_library(nlsq_highway INTERFACE)
  target_include_directories(nlsq_highway SYSTEM INTERFACE "${NLSQ_HIGHWAY_INCLUDE_DIR}")
endif()

# Compiles through ccache if it is installed.
if(PROJECT_IS_TOP_LEVEL AND NOT DEFINED CMAKE_CXX_COMPILER_LAUNCHER)
  find_program(NLSQ_CCACHE ccache)
  mark_as_advanced(NLSQ_CCACHE)
  if(NLSQ_CCACHE)
    # ccache requires these settings for precompiled headers.
    set(CMAKE_CXX_COMPILER_LAUNCHER env CCACHE_SLOPPINESS=pch_defines,time_macros "${NLSQ_CCACHE}")
  endif()
endif()

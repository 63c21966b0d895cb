# What the library is built from. None of it shows in a public header, and all but SLEEF is headers
# only: a program that links the static library needs SLEEF beside it, and nothing else.
list(APPEND CMAKE_MODULE_PATH "${CMAKE_CURRENT_LIST_DIR}")

find_package(fmt REQUIRED)     # messages; fmt::fmt-header-only
find_package(Eigen3 REQUIRED)  # solver/: factorisations
find_package(SLEEF REQUIRED)   # jacobian/kernels: vector elementary functions; SLEEF::sleef

# Highway, by its headers alone: kernels are compiled once per instruction set (static dispatch), so
# no part of its library is linked.
find_path(NLSQ_HIGHWAY_INCLUDE_DIR hwy/highway.h REQUIRED)
mark_as_advanced(NLSQ_HIGHWAY_INCLUDE_DIR)
if(NOT TARGET nlsq_highway)
  add_library(nlsq_highway INTERFACE)
  target_include_directories(nlsq_highway SYSTEM INTERFACE "${NLSQ_HIGHWAY_INCLUDE_DIR}")
endif()

# Compile through ccache where there is one.
if(PROJECT_IS_TOP_LEVEL AND NOT DEFINED CMAKE_CXX_COMPILER_LAUNCHER)
  find_program(NLSQ_CCACHE ccache)
  mark_as_advanced(NLSQ_CCACHE)
  if(NLSQ_CCACHE)
    set(CMAKE_CXX_COMPILER_LAUNCHER "${NLSQ_CCACHE}")
  endif()
endif()

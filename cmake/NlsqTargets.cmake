# Helpers for the folders' targets.

# A folder of the library: sources *.cpp of this folder, headers under include/nlsq; it may see the
# headers of the folders named after it, and no others.
function(nlsq_folder name)
  file(GLOB sources CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/*.cpp" "${CMAKE_CURRENT_SOURCE_DIR}/models/*.cpp")
  add_library(${name} OBJECT ${sources})
  target_include_directories(${name} PUBLIC
    $<BUILD_INTERFACE:${CMAKE_CURRENT_SOURCE_DIR}/include>
    PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
  target_link_libraries(${name} PUBLIC ${ARGN} PRIVATE fmt::fmt-header-only)
  nlsq_flags(${name})
endfunction()

# Warnings and the arithmetic every file is compiled with: no contraction that the source does not spell out.
function(nlsq_flags name)
  target_compile_options(${name} PRIVATE -Wall -Wextra -Wconversion -Wno-sign-conversion -ffp-contract=off)
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
  add_library(${name} ${objects} ${NLSQ_KERNEL_OBJECTS})
  add_library(nlsq::${name} ALIAS ${name})
  target_include_directories(${name} PUBLIC ${includes})
  target_compile_features(${name} PUBLIC cxx_std_20)
  target_link_libraries(${name} PRIVATE ${NLSQ_PRIVATE_LIBRARIES})
endfunction()

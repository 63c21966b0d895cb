# One way for a program to use nlsq, from a build directory of its own. WAY:
#   install            install the library just built under WORK/prefix
#   shared_install     configure, build and install a shared library under WORK/shared_prefix
#   find, shared_find  build the consumer with find_package(nlsq CONFIG) and run it
#   pkgconfig, shared_pkgconfig   the same with the compiler and pkg-config alone
#   subdirectory       the same with add_subdirectory
# The consumer's output is compared with that of NAME=found_by_cmake: a caller's flags change no bit.
function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(status)
    list(JOIN ARGN " " command)
    message(FATAL_ERROR "${command}\nended with ${status}:\n${output}")
  endif()
endfunction()

function(require_in_prefix prefix)
  foreach(file include/nlsq/error.hpp include/nlsq/graph.hpp ${LIBDIR}/cmake/nlsq/nlsqConfig.cmake
          ${LIBDIR}/cmake/nlsq/nlsqConfigVersion.cmake ${LIBDIR}/pkgconfig/nlsq.pc)
    if(NOT EXISTS ${prefix}/${file})
      message(FATAL_ERROR "${file} was not installed")
    endif()
  endforeach()
  file(GLOB_RECURSE bench ${prefix}/*bench*)
  if(bench)
    message(FATAL_ERROR "The bench was installed: ${bench}")
  endif()
  # An installed description must not point back at the tree it was built from.
  file(GLOB descriptions ${prefix}/${LIBDIR}/cmake/nlsq/*.cmake ${prefix}/${LIBDIR}/pkgconfig/*.pc)
  foreach(file ${descriptions})
    file(READ ${file} text)
    foreach(leak "${ROOT}/" "-march" "-Wall" "-ffp-contract" "Eigen3::" "fmt::")
      string(FIND "${text}" "${leak}" at)
      if(NOT at EQUAL -1)
        message(FATAL_ERROR "${file} mentions ${leak}")
      endif()
    endforeach()
  endforeach()
endfunction()

set(program_dir ${WORK}/${NAME})
set(cmake ${CMAKE_COMMAND} -G ${GENERATOR} -DCMAKE_CXX_COMPILER=${CXX} -DCMAKE_CXX_COMPILER_LAUNCHER=${LAUNCHER})

if(WAY STREQUAL "install")
  file(REMOVE_RECURSE ${WORK}/prefix)
  run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${WORK}/prefix)
  require_in_prefix(${WORK}/prefix)
  return()
elseif(WAY STREQUAL "shared_install")
  file(REMOVE_RECURSE ${WORK}/shared_prefix)
  run(${cmake} -S ${ROOT} -B ${WORK}/shared_build -DCMAKE_BUILD_TYPE=Release -DBUILD_SHARED_LIBS=ON
      -DNLSQ_BUILD_CLI=OFF -DNLSQ_BUILD_EXAMPLES=OFF -DNLSQ_BUILD_TESTS=OFF -DNLSQ_BUILD_BENCH=OFF
      -DCMAKE_INSTALL_LIBDIR=${LIBDIR})
  run(${CMAKE_COMMAND} --build ${WORK}/shared_build)
  run(${CMAKE_COMMAND} --install ${WORK}/shared_build --prefix ${WORK}/shared_prefix)
  require_in_prefix(${WORK}/shared_prefix)
  return()
endif()

if(WAY MATCHES "^shared")
  set(prefix ${WORK}/shared_prefix)
else()
  set(prefix ${WORK}/prefix)
endif()
separate_arguments(flag_list UNIX_COMMAND "${FLAGS}")
file(REMOVE_RECURSE ${program_dir})

if(WAY MATCHES "find$")
  run(${cmake} -S ${CONSUMER} -B ${program_dir} -DCMAKE_PREFIX_PATH=${prefix} "-DCMAKE_CXX_FLAGS=${FLAGS}")
  run(${CMAKE_COMMAND} --build ${program_dir})
elseif(WAY MATCHES "pkgconfig$")
  set(ENV{PKG_CONFIG_PATH} ${prefix}/${LIBDIR}/pkgconfig)
  execute_process(COMMAND pkg-config --cflags --libs nlsq OUTPUT_VARIABLE package RESULT_VARIABLE status
                  OUTPUT_STRIP_TRAILING_WHITESPACE)
  if(status)
    message(FATAL_ERROR "pkg-config does not know nlsq")
  endif()
  separate_arguments(package UNIX_COMMAND "${package}")
  file(MAKE_DIRECTORY ${program_dir})
  run(${CXX} -std=c++20 ${flag_list} ${CONSUMER}/main.cpp -o ${program_dir}/consumer ${package}
      -Wl,-rpath,${prefix}/${LIBDIR})
else()
  # No build type is chosen: the library must still be an optimised one.
  run(${cmake} -S ${CONSUMER} -B ${program_dir} -DNLSQ_TREE=${ROOT} "-DCMAKE_CXX_FLAGS=${FLAGS}")
  run(${CMAKE_COMMAND} --build ${program_dir})
endif()

execute_process(COMMAND ${program_dir}/consumer RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE errors)
if(status)
  message(FATAL_ERROR "The consumer ended with ${status}:\n${output}${errors}")
endif()
set(expected_file ${WORK}/expected.txt)
if(NAME STREQUAL "found_by_cmake")
  file(WRITE ${expected_file} "${output}")
else()
  file(READ ${expected_file} expected)
  if(NOT output STREQUAL expected)
    message(FATAL_ERROR "The consumer printed\n${output}where the first one printed\n${expected}")
  endif()
endif()
message("${output}")

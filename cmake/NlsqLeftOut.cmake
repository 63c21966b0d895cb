# Tests that this machine cannot build for want of a package. Each is noted by name; `./dev test` prints the list at its end.

# nlsq_leave_out(PACKAGE TEST...)
function(nlsq_leave_out package)
  foreach(test ${ARGN})
    set_property(GLOBAL APPEND_STRING PROPERTY NLSQ_TESTS_LEFT_OUT "${test}: wants ${package}\n")
  endforeach()
endfunction()

# Once all tests are known: the list, a line each, in the build folder. The file is empty where nothing was left out.
function(nlsq_write_left_out)
  get_property(list GLOBAL PROPERTY NLSQ_TESTS_LEFT_OUT)
  file(WRITE ${CMAKE_BINARY_DIR}/tests_left_out.txt "${list}")
endfunction()

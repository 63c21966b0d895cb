# Tests that this machine cannot build for want of a package. Each is noted by name; `./dev test` prints the list at its end.

# nlsq_leave_out(PACKAGE TEST...)
function(nlsq_leave_out package)
  foreach(test ${ARGN})
    set_property(GLOBAL APPEND_STRING PROPERTY NLSQ_TESTS_LEFT_OUT "${test}: wants ${package}\n")
  endforeach()
endfunction()

# Writes the list, a line for each test, to the build folder when all tests are known. It is empty if none was left out.
function(nlsq_write_left_out)
  get_property(list GLOBAL PROPERTY NLSQ_TESTS_LEFT_OUT)
  file(WRITE ${CMAKE_BINARY_DIR}/tests_left_out.txt "${list}")
endfunction()

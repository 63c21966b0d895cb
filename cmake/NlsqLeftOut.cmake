# Notes the tests that this machine cannot build because a package is missing. `./dev test` prints the list at
# its end.

# nlsq_leave_out(PACKAGE TEST...) notes that these tests want PACKAGE.
function(nlsq_leave_out package)
  foreach(test ${ARGN})
    set_property(GLOBAL APPEND_STRING PROPERTY NLSQ_TESTS_LEFT_OUT "${test}: wants ${package}\n")
  endforeach()
endfunction()

# Writes the list to the build folder when all tests are known, one test a line. It is empty if none was left
# out.
function(nlsq_write_left_out)
  get_property(list GLOBAL PROPERTY NLSQ_TESTS_LEFT_OUT)
  file(WRITE ${CMAKE_BINARY_DIR}/tests_left_out.txt "${list}")
endfunction()

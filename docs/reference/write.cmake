# Writes the reference of the public headers. It fails where Doxygen warns, which happens when a comment names
# a parameter or a header that does not exist.
# Usage: cmake -DROOT=… -DOUTPUT=… [-DDOXYGEN=…] -P write.cmake
if(NOT DOXYGEN)
  set(DOXYGEN doxygen)
endif()
file(STRINGS "${ROOT}/solver/include/nlsq/version.hpp" VERSION REGEX "define NLSQ_VERSION \"")
string(REGEX REPLACE ".*\"(.*)\".*" "\\1" VERSION "${VERSION}")
file(MAKE_DIRECTORY "${OUTPUT}")
configure_file("${ROOT}/docs/reference/Doxyfile.in" "${OUTPUT}/Doxyfile" @ONLY)
execute_process(COMMAND ${DOXYGEN} "${OUTPUT}/Doxyfile" RESULT_VARIABLE result)
if(result)
  message(FATAL_ERROR "Doxygen ended with ${result}; its warnings stand above")
endif()

# If the filter stopped working, pages would have no text, and nothing would warn. So some texts are expected.
function(expect page text)
  file(READ "${OUTPUT}/html/${page}" content)
  if(NOT content MATCHES "${text}")
    message(FATAL_ERROR "${page} of the reference lacks this comment of the header: ${text}")
  endif()
endfunction()
expect(structnlsq_1_1FitResult.html "n x n; NaN as above")  # after a declaration
expect(namespacenlsq.html "It guesses the starting values")  # above a declaration
expect(base_8h.html "memory ran out")                        # of C, after a declaration
expect(fit_8h.html "Judges parameters that were found")      # of C, above a declaration

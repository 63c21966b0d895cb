# Checks that clang-format with .clang-format of ROOT would change no source. `./dev format` formats them.
# CLANG_FORMAT is version 14, since other versions differ from it in some places.
file(GLOB_RECURSE sources ${ROOT}/precision/*.[ch]pp ${ROOT}/jacobian/*.[ch]pp ${ROOT}/solver/*.[ch]pp ${ROOT}/cli/*.[ch]pp
     ${ROOT}/examples/*.[ch]pp ${ROOT}/bench/*.[ch]pp ${ROOT}/tests/*.[ch]pp ${ROOT}/cmake/*.cpp)
list(LENGTH sources count)
if(count LESS 300)
  message(FATAL_ERROR "Only ${count} sources found")
endif()
execute_process(COMMAND ${CLANG_FORMAT} --style=file --dry-run -Werror ${sources}
                OUTPUT_VARIABLE output ERROR_VARIABLE output RESULT_VARIABLE status)
if(status)
  string(REGEX MATCHALL "[^\n]*: error: [^\n]*" places "${output}")
  list(LENGTH places count)
  list(SUBLIST places 0 20 places)
  list(JOIN places "\n  " text)
  message(FATAL_ERROR "${count} places are not as ./dev format writes them:\n  ${text}")
endif()

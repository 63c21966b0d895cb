# Builds the example of another language by the commands that it shows, against the shared library under
# WORK/shared_prefix, and runs it. LANGUAGE is r or octave.
set(folder ${WORK}/language_${LANGUAGE})
file(REMOVE_RECURSE ${folder})
file(COPY ${ROOT}/examples/${LANGUAGE}/ DESTINATION ${folder})
set(prefix ${WORK}/shared_prefix)
set(ENV{PKG_CONFIG_PATH} ${prefix}/${LIBDIR}/pkgconfig)
set(ENV{LD_LIBRARY_PATH} ${prefix}/${LIBDIR})

# The commands stand in the comment that begins the C file.
file(GLOB source ${folder}/*.c)
file(STRINGS ${source} commands REGEX "^ [*]   ")
list(LENGTH commands count)
if(NOT count EQUAL 2)
  message(FATAL_ERROR "${source} shows ${count} commands; two are expected")
endif()
foreach(command ${commands})
  string(SUBSTRING "${command}" 5 -1 command)
  execute_process(COMMAND sh -c "${command}" WORKING_DIRECTORY ${folder} RESULT_VARIABLE status
                  OUTPUT_VARIABLE output ERROR_VARIABLE output)
  message("${command}\n${output}")
  if(status)
    message(FATAL_ERROR "the command ended with ${status}")
  endif()
endforeach()
if(NOT output MATCHES "a wrong number is refused:.*row 6")
  message(FATAL_ERROR "The example did not reach its end")
endif()

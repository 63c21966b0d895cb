# cmake -DNM=... -DOBJECT=... -DENTRY=... -P CheckKernelSymbols.cmake
# Fails unless the object defines exactly one symbol the linker can see, and it is the entry.
execute_process(COMMAND ${NM} -C --defined-only --extern-only ${OBJECT}
  OUTPUT_VARIABLE text RESULT_VARIABLE status)
if(NOT status EQUAL 0)
  message(FATAL_ERROR "nm failed on ${OBJECT}")
endif()
string(STRIP "${text}" text)
string(REPLACE "\n" ";" symbols "${text}")
list(LENGTH symbols count)
if(NOT count EQUAL 1 OR NOT text MATCHES "${ENTRY}\\([^\n]*\\)$")
  message(FATAL_ERROR "${OBJECT} shows the linker more than ${ENTRY}:\n${text}")
endif()

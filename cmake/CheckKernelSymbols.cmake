# Fails unless an object defines exactly one symbol that the linker can see, and this is the entry.
# Usage: cmake -DNM=... -DOBJECT=... -DENTRY=... -P CheckKernelSymbols.cmake
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

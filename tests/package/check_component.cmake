# Configures, builds and runs a consumer of the installed package with a component, in a directory of its own.
function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(status)
    list(JOIN ARGN " " command)
    message(FATAL_ERROR "${command}\nended with ${status}:\n${output}")
  endif()
  message("${output}")
endfunction()

file(REMOVE_RECURSE ${WORK}/ceres_component)
run(${CMAKE_COMMAND} -G ${GENERATOR} -DCMAKE_CXX_COMPILER=${CXX} -S ${CONSUMER}
    -B ${WORK}/ceres_component -DCMAKE_PREFIX_PATH=${WORK}/prefix)
run(${CMAKE_COMMAND} --build ${WORK}/ceres_component)
run(${WORK}/ceres_component/ceres_consumer)

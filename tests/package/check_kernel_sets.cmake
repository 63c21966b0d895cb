# Builds nlsq-fit with some of the kernel sets, from the objects of BUILD. With native it runs the best set of
# HOST_SETS, says so, and refuses the others. With the set LACKED, which this CPU does not have, it refuses to
# fit. An unknown set is an error of CMake.
include(${CMAKE_CURRENT_LIST_DIR}/reuse_objects.cmake)
reuse_objects()

# expect(WHAT PATTERN COMMAND…) checks that the command fails or not, as WHAT says, and that it prints text
# that matches.
function(expect what pattern)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if((status AND what STREQUAL "success") OR (NOT status AND what STREQUAL "failure") OR NOT output MATCHES "${pattern}")
    list(JOIN ARGN " " command)
    message(FATAL_ERROR "Expected ${what} and \"${pattern}\"; ended with ${status}: ${command}\n${output}")
  endif()
endfunction()
function(configure what pattern sets)
  expect(${what} "${pattern}" ${CMAKE_COMMAND} -G ${GENERATOR} -S ${ROOT} -B ${WORK} -DCMAKE_CXX_COMPILER=${CXX}
    -DCMAKE_BUILD_TYPE=Release -DNLSQ_PRECOMPILE_HEADERS=OFF -DNLSQ_BUILD_TESTS=OFF -DNLSQ_BUILD_EXAMPLES=OFF
    -DNLSQ_BUILD_BENCH=OFF "-DNLSQ_KERNELS=${sets}")
endfunction()
set(build ${CMAKE_COMMAND} --build ${WORK} --target nlsq-fit)
set(program ${WORK}/bin/nlsq-fit)
set(fit ${program} ${ROOT}/data/decay.csv --model exp)

file(REMOVE_RECURSE ${WORK})
list(GET HOST_SETS -1 best)
configure(success "" native)
expect(success "" ${build})
require_reused(${WORK})
set(used ${best})
if(best STREQUAL "avx512")  # the set amx is compiled with it, and used where the CPU has AMX
  set(used "(avx512|amx)")
  set(more "(, amx)?")
endif()
expect(success "kernels: ${best} [^;]*; in use: ${used}\n" ${program} --version)
expect(success "CONVERGED.* ${used} kernels" ${fit})
if(NOT best STREQUAL "baseline")
  expect(failure "NLSQ_ISA=baseline names no .* there are: ${best}${more}\n" ${CMAKE_COMMAND} -E env NLSQ_ISA=baseline ${fit})
endif()

configure(failure "no kernel set mmx" mmx)
if(LACKED)
  configure(success "" ${LACKED})
  expect(success "" ${build})
  expect(failure "only kernels for another CPU.*NLSQ_KERNELS=all" ${fit})
endif()

# Lists every file that the public headers read, and fails if one belongs to a third party.
foreach(dir ${INCLUDES})
  list(APPEND flags -I${dir})
endforeach()
execute_process(COMMAND ${CXX} -std=c++20 -M ${flags} ${SOURCE}
                OUTPUT_VARIABLE files ERROR_VARIABLE errors RESULT_VARIABLE status)
if(status)
  message(FATAL_ERROR "The public headers do not preprocess:\n${errors}")
endif()
if(NOT files MATCHES "nlsq/error.hpp")
  message(FATAL_ERROR "The list of files is not what was expected:\n${files}")
endif()
foreach(own ${INCLUDES} ${SOURCE})  # a checkout may lie in a folder of any name
  string(REPLACE "${own}" "" files "${files}")
endforeach()
string(REGEX MATCHALL "[^ \n\\]*/(Eigen|eigen3|fmt|hwy|fast_float|nlohmann|CLI|ceres|tbb|oneapi)/[^ \n\\]*|[^ \n\\]*/(sleef|zlib)[.]h"
       foreign "${files}")
if(foreign)
  list(JOIN foreign "\n  " text)
  message(FATAL_ERROR "Public headers include:\n  ${text}")
endif()

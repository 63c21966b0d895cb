# The installed package: library, headers as <nlsq/...>, nlsq-fit, CMake and pkg-config descriptions.
# nlsq-bench links GPL code and is never installed.
include(CMakePackageConfigHelpers)
set(NLSQ_CMAKE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/nlsq)

install(TARGETS nlsq EXPORT nlsqTargets)
foreach(folder precision jacobian solver)
  install(DIRECTORY ${folder}/include/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.hpp")
endforeach()
if(TARGET nlsq-fit)
  file(RELATIVE_PATH to_lib /prefix/${CMAKE_INSTALL_BINDIR} /prefix/${CMAKE_INSTALL_LIBDIR})
  set_target_properties(nlsq-fit PROPERTIES INSTALL_RPATH "$ORIGIN/${to_lib}")
  install(TARGETS nlsq-fit)
endif()
install(FILES LICENSE THIRD_PARTY_NOTICES DESTINATION ${CMAKE_INSTALL_DOCDIR})

# A static library leaves SLEEF and oneTBB to be linked by the program; a shared one has it already.
get_target_property(nlsq_type nlsq TYPE)
set(NLSQ_IS_STATIC OFF)
set(NLSQ_PC_REQUIRES "")
set(NLSQ_PC_REQUIRES_PRIVATE sleef)
if(NLSQ_WITH_TBB)
  string(APPEND NLSQ_PC_REQUIRES_PRIVATE " tbb")
endif()
if(nlsq_type STREQUAL "STATIC_LIBRARY")
  set(NLSQ_IS_STATIC ON)
  set(NLSQ_PC_REQUIRES ${NLSQ_PC_REQUIRES_PRIVATE})
  set(NLSQ_PC_REQUIRES_PRIVATE "")
  install(FILES cmake/FindSLEEF.cmake DESTINATION ${NLSQ_CMAKE_DIR})
endif()

install(EXPORT nlsqTargets NAMESPACE nlsq:: DESTINATION ${NLSQ_CMAKE_DIR})
configure_package_config_file(cmake/nlsqConfig.cmake.in ${PROJECT_BINARY_DIR}/cmake/nlsqConfig.cmake
  INSTALL_DESTINATION ${NLSQ_CMAKE_DIR} NO_SET_AND_CHECK_MACRO)
# Before 1.0 a minor version may break programs; after it, only a major one.
set(compatibility SameMajorVersion)
if(PROJECT_VERSION_MAJOR EQUAL 0)
  set(compatibility SameMinorVersion)
endif()
write_basic_package_version_file(${PROJECT_BINARY_DIR}/cmake/nlsqConfigVersion.cmake COMPATIBILITY ${compatibility})
install(FILES ${PROJECT_BINARY_DIR}/cmake/nlsqConfig.cmake ${PROJECT_BINARY_DIR}/cmake/nlsqConfigVersion.cmake
        DESTINATION ${NLSQ_CMAKE_DIR})

# nlsq.pc finds its prefix from where it lies, so that an installed tree can be moved.
if(IS_ABSOLUTE "${CMAKE_INSTALL_LIBDIR}" OR IS_ABSOLUTE "${CMAKE_INSTALL_INCLUDEDIR}")
  set(NLSQ_PC_PREFIX ${CMAKE_INSTALL_PREFIX})
  set(NLSQ_PC_LIBDIR ${CMAKE_INSTALL_FULL_LIBDIR})
  set(NLSQ_PC_INCLUDEDIR ${CMAKE_INSTALL_FULL_INCLUDEDIR})
else()
  file(RELATIVE_PATH up /prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig /prefix)
  string(REGEX REPLACE "/$" "" up "${up}")
  set(NLSQ_PC_PREFIX "\${pcfiledir}/${up}")
  set(NLSQ_PC_LIBDIR "\${prefix}/${CMAKE_INSTALL_LIBDIR}")
  set(NLSQ_PC_INCLUDEDIR "\${prefix}/${CMAKE_INSTALL_INCLUDEDIR}")
endif()
configure_file(cmake/nlsq.pc.in ${PROJECT_BINARY_DIR}/cmake/nlsq.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/cmake/nlsq.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

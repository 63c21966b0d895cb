# Describes the Debian package. `cpack -G DEB` in a build folder writes nlsq_VERSION_ARCHITECTURE.deb with
# what `cmake --install` installs. Configure with -DCMAKE_INSTALL_PREFIX=/usr -DBUILD_SHARED_LIBS=ON for the
# usual places and a shared library.
set(CPACK_PACKAGE_NAME nlsq)
set(CPACK_PACKAGE_CONTACT "The nlsq authors")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_DESCRIPTION}")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
# dpkg-shlibdeps (package dpkg-dev) finds the packages of the libraries that ours link.
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
include(CPack)

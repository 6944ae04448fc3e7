# libhone.so, and what is installed: headers, library, program, and how other projects find them (find_package(hone), pkg-config).
# The objects are those of the program. The version script leaves hone::api and hone_* to be seen.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

add_library(hone_library SHARED ${PROJECT_SOURCE_DIR}/cmake/empty.cc)
add_library(hone::hone ALIAS hone_library)
target_link_libraries(hone_library PRIVATE "$<LINK_LIBRARY:WHOLE_ARCHIVE,hone_api>" hone_jobs)
target_include_directories(hone_library INTERFACE $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
                           $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
set(exports ${PROJECT_SOURCE_DIR}/src/api/exports.map)
target_link_options(hone_library PRIVATE -Wl,--version-script=${exports})
if(NOT HONE_SANITIZE)
  target_link_options(hone_library PRIVATE -Wl,--no-undefined)
endif()
set_target_properties(hone_library PROPERTIES OUTPUT_NAME hone VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}
                      EXPORT_NAME hone LINK_DEPENDS ${exports} LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR})
set_target_properties(hone hone_library PROPERTIES INSTALL_RPATH_USE_LINK_PATH ON)  # to LLVM where that is a shared library

set(package ${CMAKE_INSTALL_LIBDIR}/cmake/hone)
install(TARGETS hone RUNTIME)
install(TARGETS hone_library EXPORT hone LIBRARY)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/hone DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN *.h)
install(EXPORT hone NAMESPACE hone:: DESTINATION ${package} FILE hone-config.cmake)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/hone-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/hone-config-version.cmake DESTINATION ${package})
file(RELATIVE_PATH up /prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig /prefix)  # wherever the prefix is moved to
configure_file(${PROJECT_SOURCE_DIR}/cmake/hone.pc.in ${PROJECT_BINARY_DIR}/hone.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/hone.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE ${PROJECT_SOURCE_DIR}/NOTICE DESTINATION ${CMAKE_INSTALL_DOCDIR})

if(PROJECT_IS_TOP_LEVEL)  # a .deb: cpack --config build/release/CPackConfig.cmake
  set(CPACK_GENERATOR DEB)
  set(CPACK_PACKAGE_CONTACT "hone's authors <hone@localhost>")
  set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "Makes trained neural networks smaller and faster, and measures them")
  set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
  set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
  set(CPACK_DEBIAN_PACKAGE_SECTION science)
  set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
  include(CPack)
endif()

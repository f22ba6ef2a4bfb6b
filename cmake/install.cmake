# Installation. Component `runtime`: the program with its manual page, completion, example configuration, unit and
# documents. Component `development`: the library and headers for programs that embed the detector, with files for
# find_package(doppel) and pkg-config.
include(CMakePackageConfigHelpers)

# --- The library --------------------------------------------------------------------------------------------------
target_compile_features(doppel PUBLIC cxx_std_20)
target_compile_features(doppel_shared INTERFACE cxx_std_20)
install(TARGETS doppel doppel_shared EXPORT doppelTargets
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT development
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT development)
install(DIRECTORY include/doppel DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT development)
install(EXPORT doppelTargets NAMESPACE doppel:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/doppel COMPONENT development)
file(WRITE ${CMAKE_BINARY_DIR}/doppelConfig.cmake
"include(CMakeFindDependencyMacro)
find_dependency(Threads)
# The headers for C++ need Abseil, and the static library needs fmt too. A program in C that links the shared library needs neither.
get_property(languages GLOBAL PROPERTY ENABLED_LANGUAGES)
if(CXX IN_LIST languages)
  find_dependency(absl)
  find_package(fmt QUIET)
endif()
include(\${CMAKE_CURRENT_LIST_DIR}/doppelTargets.cmake)
")
write_basic_package_version_file(${CMAKE_BINARY_DIR}/doppelConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/doppelConfig.cmake ${CMAKE_BINARY_DIR}/doppelConfigVersion.cmake
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/doppel COMPONENT development)
# The same for pkg-config. The prefix is known only at the installation, because cmake --install may set another one.
pkg_check_modules(DOPPEL_STATIC QUIET absl_status absl_statusor absl_flat_hash_map absl_flat_hash_set absl_inlined_vector
  absl_strings absl_span fmt)
list(JOIN DOPPEL_STATIC_STATIC_LDFLAGS " " DOPPEL_STATIC_FLAGS)
install(CODE "set(DOPPEL_STATIC_FLAGS \"${DOPPEL_STATIC_FLAGS}\")
  set(CMAKE_INSTALL_LIBDIR \"${CMAKE_INSTALL_LIBDIR}\")
  set(CMAKE_INSTALL_INCLUDEDIR \"${CMAKE_INSTALL_INCLUDEDIR}\")
  set(PROJECT_VERSION \"${PROJECT_VERSION}\")
  set(PROJECT_DESCRIPTION \"${PROJECT_DESCRIPTION}\")
  configure_file(\"${PROJECT_SOURCE_DIR}/cmake/doppel.pc.in\"
    \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_LIBDIR}/pkgconfig/doppel.pc\" @ONLY)" COMPONENT development)

if(NOT DOPPEL_PROGRAM)
  return()
endif()

# --- The program --------------------------------------------------------------------------------------------------
# The program itself writes its manual page and completion.
set(said ${CMAKE_BINARY_DIR}/said)
add_custom_command(OUTPUT ${said}/doppel.1 ${said}/doppel.bash ${said}/_doppel ${said}/doppel.fish
  COMMAND ${CMAKE_COMMAND} -E make_directory ${said}
  COMMAND doppel_cli completion man > ${said}/doppel.1
  COMMAND doppel_cli completion bash > ${said}/doppel.bash
  COMMAND doppel_cli completion zsh > ${said}/_doppel
  COMMAND doppel_cli completion fish > ${said}/doppel.fish
  DEPENDS doppel_cli VERBATIM)
add_custom_target(said ALL DEPENDS ${said}/doppel.1)

install(TARGETS doppel_cli doppel_lab_cli RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT runtime)
# doppel-lab's page is that of doppel, which starts it.
file(WRITE ${said}/doppel-lab.1 ".so man1/doppel.1\n")
install(FILES ${said}/doppel.1 ${said}/doppel-lab.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT runtime)
install(FILES ${said}/doppel.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME doppel COMPONENT runtime)
install(FILES ${said}/_doppel DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions COMPONENT runtime)
install(FILES ${said}/doppel.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d COMPONENT runtime)
install(FILES config/doppel.yaml DESTINATION ${CMAKE_INSTALL_DATADIR}/doppel COMPONENT runtime)
install(FILES README.md CHANGELOG.md DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT runtime)
install(DIRECTORY docs DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT runtime)
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} RENAME copyright COMPONENT runtime)
install(FILES deploy/systemd/doppel.service DESTINATION lib/systemd/system COMPONENT runtime)
# The unit contains the program's full path.
install(CODE [[
  if(NOT CMAKE_INSTALL_PREFIX STREQUAL "/usr")
    set(unit "$ENV{DESTDIR}${CMAKE_INSTALL_PREFIX}/lib/systemd/system/doppel.service")
    file(READ "${unit}" text)
    string(REPLACE "/usr/bin/doppel" "${CMAKE_INSTALL_PREFIX}/bin/doppel" text "${text}")
    file(WRITE "${unit}" "${text}")
  endif()]] COMPONENT runtime)

# --- The Debian package: cpack -G DEB in the build folder ----------------------------------------------------------
# The configuration that the unit reads. Only the package has it, because its path is fixed.
install(FILES deploy/debian/doppel.yaml DESTINATION /etc/doppel COMPONENT debian EXCLUDE_FROM_ALL)

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME doppel)
set(CPACK_PACKAGE_CONTACT "doppel maintainers <maintainers@doppel.invalid>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "near-duplicate detection in a stream of documents")
set(CPACK_PACKAGE_DESCRIPTION "Reads documents from Kafka topics or files as they come, decides for each
whether it repeats an earlier one, and publishes an event for every copy,
exactly once.")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_SET_DESTDIR ON)
set(CPACK_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_ALL runtime debian)
set(CPACK_COMPONENTS_GROUPING ALL_COMPONENTS_IN_ONE)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION net)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_DEPENDS "passwd")
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
file(WRITE ${CMAKE_BINARY_DIR}/debian/conffiles "/etc/doppel/doppel.yaml\n")
set(CPACK_DEBIAN_PACKAGE_CONTROL_EXTRA ${CMAKE_BINARY_DIR}/debian/conffiles
  ${PROJECT_SOURCE_DIR}/deploy/debian/postinst ${PROJECT_SOURCE_DIR}/deploy/debian/prerm ${PROJECT_SOURCE_DIR}/deploy/debian/postrm)
set(CPACK_PRE_BUILD_SCRIPTS ${PROJECT_SOURCE_DIR}/cmake/debian_files.cmake)
include(CPack)

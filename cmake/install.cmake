# What a program that embeds the detector needs: headers, the library, and a package for find_package(doppel).
include(CMakePackageConfigHelpers)

target_compile_features(doppel PUBLIC cxx_std_20)
install(TARGETS doppel EXPORT doppelTargets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(TARGETS doppel_cli RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(DIRECTORY include/doppel DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(FILES config/doppel.yaml DESTINATION ${CMAKE_INSTALL_DATADIR}/doppel)
install(EXPORT doppelTargets NAMESPACE doppel:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/doppel)
file(WRITE ${CMAKE_BINARY_DIR}/doppelConfig.cmake
"include(CMakeFindDependencyMacro)
find_dependency(absl)
find_dependency(Threads)
include(\${CMAKE_CURRENT_LIST_DIR}/doppelTargets.cmake)
")
write_basic_package_version_file(${CMAKE_BINARY_DIR}/doppelConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/doppelConfig.cmake ${CMAKE_BINARY_DIR}/doppelConfigVersion.cmake
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/doppel)

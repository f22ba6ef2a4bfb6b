# libdoppel, which programs embed (include/doppel): the engine, the state directory, and the index that joins them. It
# reads no other files and does not use the network. The same objects make a static and a shared library.
file(GLOB DOPPEL_CORE CONFIGURE_DEPENDS
  src/base/*.cc src/text/*.cc src/sketch/*.cc src/index/*.cc src/engine/*.cc src/state/*.cc src/session/*.cc
  src/embed/*.cc)
list(APPEND DOPPEL_CORE src/records/metadata.cc)
if(NOT CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64|amd64")
  list(FILTER DOPPEL_CORE EXCLUDE REGEX "_avx(2|512)[.]cc$")
endif()
if(NOT CMAKE_SYSTEM_PROCESSOR MATCHES "aarch64|arm64")
  list(FILTER DOPPEL_CORE EXCLUDE REGEX "_neon[.]cc$")
endif()
add_library(doppel STATIC ${DOPPEL_CORE})
add_library(doppel::doppel ALIAS doppel)
target_include_directories(doppel
  PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>
  PRIVATE src)
target_link_libraries(doppel
  PUBLIC absl::status absl::statusor
  PRIVATE absl::flat_hash_map absl::flat_hash_set absl::inlined_vector absl::strings absl::span fmt::fmt
          Threads::Threads $<BUILD_INTERFACE:PkgConfig::XXHASH> $<BUILD_INTERFACE:doppel_build>)

file(WRITE ${CMAKE_BINARY_DIR}/empty.cc "")
add_library(doppel_shared SHARED ${CMAKE_BINARY_DIR}/empty.cc)
set_target_properties(doppel_shared PROPERTIES OUTPUT_NAME doppel VERSION ${PROJECT_VERSION}
  SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
# Programs in C need nothing of Abseil, and those in C++ what its headers call.
target_link_libraries(doppel_shared
  INTERFACE $<$<LINK_LANGUAGE:CXX>:absl::status> $<$<LINK_LANGUAGE:CXX>:absl::statusor>
  PRIVATE $<BUILD_INTERFACE:$<LINK_LIBRARY:WHOLE_ARCHIVE,doppel>>)
target_include_directories(doppel_shared
  INTERFACE $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
target_link_options(doppel_shared PRIVATE LINKER:--version-script=${PROJECT_SOURCE_DIR}/cmake/doppel.map)
set_target_properties(doppel_shared PROPERTIES LINK_DEPENDS ${PROJECT_SOURCE_DIR}/cmake/doppel.map)

# Files, formats and the pipeline; the Python extension needs only this. cmake/program.cmake has the rest.
if(DOPPEL_PROGRAM OR DOPPEL_PYTHON)
  file(GLOB_RECURSE DOPPEL_IO CONFIGURE_DEPENDS
    src/formats/*.cc src/records/*.cc src/pipeline/*.cc src/files/*.cc src/config/*.cc src/open/*.cc src/insight/*.cc
    src/evals/*.cc)
  list(TRANSFORM DOPPEL_CORE PREPEND ${PROJECT_SOURCE_DIR}/ REGEX "^src/")
  list(REMOVE_ITEM DOPPEL_IO ${DOPPEL_CORE})
  add_library(doppel_io STATIC ${DOPPEL_IO})
  target_include_directories(doppel_io PUBLIC src)
  target_link_libraries(doppel_io
    PUBLIC doppel doppel_build absl::flat_hash_map absl::flat_hash_set absl::inlined_vector absl::strings absl::span
           absl::time fmt::fmt Threads::Threads PkgConfig::XXHASH
    PRIVATE simdjson::simdjson ICU::uc PkgConfig::UCHARDET PkgConfig::BROTLI Snappy::snappy PkgConfig::LZ4
            PkgConfig::DEFLATE yaml-cpp zstd::libzstd_shared ZLIB::ZLIB)
  if(DOPPEL_SANITIZE)  # this one and the library do most of the tests' work
    target_compile_options(doppel_io PRIVATE -O1)
  endif()
endif()
if(DOPPEL_SANITIZE)
  target_compile_options(doppel PRIVATE -O1)
endif()

# The names of kernels end with the instructions that they need; base/simd.h chooses one at run time. Other processors
# have the scalar form of each kernel alone.
file(GLOB_RECURSE DOPPEL_AVX2 src/*_avx2.cc)
file(GLOB_RECURSE DOPPEL_AVX512 src/*_avx512.cc)
set_source_files_properties(${DOPPEL_AVX2} PROPERTIES COMPILE_OPTIONS
  "-mavx2;-mbmi;-mbmi2;-mlzcnt;-mpopcnt")
set_source_files_properties(${DOPPEL_AVX512} PROPERTIES COMPILE_OPTIONS
  "-mavx2;-mbmi;-mbmi2;-mlzcnt;-mpopcnt;-mavx512f;-mavx512bw;-mavx512vl;-mavx512dq;-mavx512cd;-mavx512vbmi;-mavx512vbmi2;-mprefer-vector-width=512")

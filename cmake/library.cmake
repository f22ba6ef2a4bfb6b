# libdoppel: what a program embeds (documents in, verdicts out). It does no I/O of its own but for
# the bodies that it is given a place for.
file(GLOB DOPPEL_CORE CONFIGURE_DEPENDS
  src/base/*.cc src/text/*.cc src/sketch/*.cc src/index/*.cc src/engine/*.cc)
add_library(doppel STATIC ${DOPPEL_CORE})
add_library(doppel::doppel ALIAS doppel)
target_include_directories(doppel
  PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>
  PRIVATE src)
target_link_libraries(doppel
  PUBLIC absl::status absl::statusor
  PRIVATE absl::flat_hash_map absl::flat_hash_set absl::inlined_vector absl::strings absl::span
          Threads::Threads $<BUILD_INTERFACE:PkgConfig::XXHASH> $<BUILD_INTERFACE:doppel_build>)

# libdoppel_io: everything that reads and writes records. The fuzz targets need no more.
file(GLOB DOPPEL_IO CONFIGURE_DEPENDS
  src/formats/*.cc src/state/*.cc src/http/*.cc
  src/stream/*.cc src/stream/warc/*.cc src/stream/files/*.cc src/stream/files/tables/*.cc src/stream/files/parquet/*.cc src/stream/files/arrow/*.cc src/stream/kafka/*.cc src/stream/kafka/librdkafka/*.cc)
# libdoppel_app: that, and everything that is configured and shown. Only the binary, tests and benchmarks use it.
file(GLOB DOPPEL_APP CONFIGURE_DEPENDS
  src/serve/*.cc src/config/*.cc src/commands/*.cc src/insight/*.cc src/metrics/*.cc src/status/*.cc src/lab/*.cc)
add_library(doppel_io STATIC ${DOPPEL_IO})
add_library(doppel_app STATIC ${DOPPEL_APP})
foreach(library IN ITEMS doppel_io doppel_app)
  target_include_directories(${library} PUBLIC src)
  target_link_libraries(${library}
    PUBLIC doppel doppel_build PkgConfig::PROMETHEUS absl::flat_hash_map absl::flat_hash_set absl::inlined_vector
           absl::strings absl::span absl::time fmt::fmt CLI11::CLI11 Threads::Threads PkgConfig::XXHASH
    PRIVATE PkgConfig::RDKAFKA civetweb::civetweb simdjson::simdjson LibXml2::LibXml2 ICU::uc PkgConfig::UCHARDET
            PkgConfig::BROTLI Snappy::snappy PkgConfig::LZ4 CURL::libcurl yaml-cpp zstd::libzstd_shared ZLIB::ZLIB)
endforeach()
target_link_libraries(doppel_app PUBLIC doppel_io)

# librdkafka's threads and locks, in words that ThreadSanitizer knows.
if(DOPPEL_SANITIZE STREQUAL "thread")
  add_library(doppel_c11_threads OBJECT cmake/c11_threads.cc)
  target_link_libraries(doppel_io INTERFACE $<TARGET_OBJECTS:doppel_c11_threads>)
endif()

set_source_files_properties(src/base/check.cc src/commands/frame.cc src/serve/monitor.cc src/serve/web.cc PROPERTIES COMPILE_DEFINITIONS
  "DOPPEL_VERSION=\"${PROJECT_VERSION}\"")

# Kernels are named for the instructions they need; base/simd.h chooses at run time.
file(GLOB_RECURSE DOPPEL_AVX2 src/*_avx2.cc)
file(GLOB_RECURSE DOPPEL_AVX512 src/*_avx512.cc)
set_source_files_properties(${DOPPEL_AVX2} PROPERTIES COMPILE_OPTIONS
  "-mavx2;-mbmi;-mbmi2;-mlzcnt;-mpopcnt")
set_source_files_properties(${DOPPEL_AVX512} PROPERTIES COMPILE_OPTIONS
  "-mavx2;-mbmi;-mbmi2;-mlzcnt;-mpopcnt;-mavx512f;-mavx512bw;-mavx512vl;-mavx512dq;-mavx512cd;-mavx512vbmi;-mavx512vbmi2;-mprefer-vector-width=512")

add_executable(doppel_cli src/main.cc)
set_target_properties(doppel_cli PROPERTIES OUTPUT_NAME doppel)
target_link_libraries(doppel_cli PRIVATE doppel_app)

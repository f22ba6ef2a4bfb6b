# The programs `doppel` and `doppel-lab`, and the libraries that only it, tests and benchmarks link:
#   doppel_net  brokers, HTTP, and records fetched over it
#   doppel_app  the daemon, its roles and pages, and the commands
file(GLOB_RECURSE DOPPEL_NET CONFIGURE_DEPENDS src/http/*.cc src/fetch/*.cc src/kafka/*.cc)
file(GLOB_RECURSE DOPPEL_APP CONFIGURE_DEPENDS
  src/signing/*.cc src/shards/*.cc src/daemon/*.cc src/roles/*.cc src/commands/*.cc src/metrics/*.cc src/status/*.cc
  src/intake/*.cc)
add_library(doppel_net STATIC ${DOPPEL_NET})
add_library(doppel_app STATIC ${DOPPEL_APP})
target_include_directories(doppel_net PUBLIC src)
target_include_directories(doppel_app PUBLIC src)
target_link_libraries(doppel_net
  PUBLIC doppel_io
  PRIVATE PkgConfig::RDKAFKA Boost::headers OpenSSL::SSL CURL::libcurl simdjson::simdjson zstd::libzstd_shared ZLIB::ZLIB)
target_link_libraries(doppel_app PUBLIC doppel_net PkgConfig::PROMETHEUS CLI11::CLI11)
# It only calls what takes time, so it compiles in .6 of the time of -O3. Builds for sanitizers and tests of the image say -O0.
if(NOT CMAKE_CXX_FLAGS_RELWITHDEBINFO MATCHES "-O0")
  target_compile_options(doppel_app PRIVATE $<$<NOT:$<CONFIG:Debug>>:-O1>)
endif()

# Makes librdkafka's threads and locks visible to ThreadSanitizer.
if(DOPPEL_SANITIZE STREQUAL "thread")
  add_library(doppel_c11_threads OBJECT cmake/c11_threads.cc)
  target_link_libraries(doppel_net INTERFACE $<TARGET_OBJECTS:doppel_c11_threads>)
endif()

add_executable(doppel_cli src/main.cc)
set_target_properties(doppel_cli PROPERTIES OUTPUT_NAME doppel)
target_link_libraries(doppel_cli PRIVATE doppel_app)

# The published experiments are a program of their own: `doppel lab` starts doppel-lab.
file(GLOB DOPPEL_LAB CONFIGURE_DEPENDS lab/*.cc)
list(REMOVE_ITEM DOPPEL_LAB ${PROJECT_SOURCE_DIR}/lab/main.cc)
add_library(doppel_lab STATIC ${DOPPEL_LAB})
target_include_directories(doppel_lab PUBLIC ${PROJECT_SOURCE_DIR})
target_link_libraries(doppel_lab PUBLIC doppel_app)
add_executable(doppel_lab_cli lab/main.cc)
set_target_properties(doppel_lab_cli PROPERTIES OUTPUT_NAME doppel-lab)
target_link_libraries(doppel_lab_cli PRIVATE doppel_lab)

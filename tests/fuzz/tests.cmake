# The fuzz targets as ordinary tests: built with any compiler and run over their seeds, so that they
# cannot rot. Finding something new needs libFuzzer: see CMakeLists.txt.
file(GLOB fuzz_targets CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/fuzz/*_fuzz.cc)
foreach(source IN LISTS fuzz_targets)
  get_filename_component(name ${source} NAME_WE)
  string(REGEX REPLACE "_fuzz$" "" corpus ${name})
  add_executable(replay_${name} ${source} ${PROJECT_SOURCE_DIR}/tests/fuzz/replay.cc)
  target_include_directories(replay_${name} PRIVATE ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/tests)
  target_link_libraries(replay_${name} PRIVATE doppel_app)
  add_test(NAME fuzz/${name} COMMAND replay_${name} ${PROJECT_SOURCE_DIR}/tests/fuzz/corpus/${corpus})
endforeach()

# The corpus and the oracle for whoever needs them: other tests, benchmarks, and a small tool.
add_library(doppel_oracle STATIC
  ${CMAKE_CURRENT_LIST_DIR}/corpus.cc ${CMAKE_CURRENT_LIST_DIR}/edits.cc ${CMAKE_CURRENT_LIST_DIR}/language.cc
  ${CMAKE_CURRENT_LIST_DIR}/oracle.cc ${CMAKE_CURRENT_LIST_DIR}/relations.cc ${CMAKE_CURRENT_LIST_DIR}/words.cc)
target_include_directories(doppel_oracle PUBLIC ${PROJECT_SOURCE_DIR}/tests)
if(NOT DOPPEL_SANITIZE)
  target_compile_options(doppel_oracle PRIVATE -O3)
endif()
target_link_libraries(doppel_oracle PUBLIC ICU::uc ICU::i18n absl::flat_hash_map PRIVATE doppel_build)

add_executable(make_corpus ${CMAKE_CURRENT_LIST_DIR}/tools/make_corpus.cc)
target_link_libraries(make_corpus PRIVATE doppel_oracle doppel_build CLI11::CLI11)

add_executable(judge ${CMAKE_CURRENT_LIST_DIR}/tools/judge.cc)
target_link_libraries(judge PRIVATE doppel_oracle doppel_build CLI11::CLI11 simdjson::simdjson)

# Made on demand only: the committed tables are what counts. It lives with the tests because they are
# the only part that needs ICU.
add_executable(generate_unicode_tables EXCLUDE_FROM_ALL ${PROJECT_SOURCE_DIR}/tools/generate_unicode_tables.cc)
target_include_directories(generate_unicode_tables PRIVATE ${PROJECT_SOURCE_DIR}/src)
target_link_libraries(generate_unicode_tables PRIVATE doppel_build ICU::uc)

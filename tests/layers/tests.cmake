add_test(NAME layers/hold COMMAND ${PROJECT_SOURCE_DIR}/scripts/check-layers)
add_test(NAME layers/check_finds_planted COMMAND ${PROJECT_SOURCE_DIR}/tests/layers/planted)

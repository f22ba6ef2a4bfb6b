# Events fit the schemas that docs/schema promises; an event that lacks a member does not.
add_test(NAME schema.scan COMMAND sh -c
  "$<TARGET_FILE:doppel_cli> scan -q '${PROJECT_SOURCE_DIR}/examples/news.jsonl' | '${PROJECT_SOURCE_DIR}/tests/schema/check_events' '${PROJECT_SOURCE_DIR}/docs/schema'")
add_test(NAME schema.refuses COMMAND sh -c
  "$<TARGET_FILE:doppel_cli> scan -q '${PROJECT_SOURCE_DIR}/examples/news.jsonl' | sed 's/\"kind\":/\"sort\":/' | '${PROJECT_SOURCE_DIR}/tests/schema/check_events' '${PROJECT_SOURCE_DIR}/docs/schema'")
set_tests_properties(schema.refuses PROPERTIES WILL_FAIL TRUE)

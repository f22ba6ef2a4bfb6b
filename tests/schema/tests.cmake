# Events fit the schemas that docs/schema promises; an event that lacks a member does not.
add_test(NAME schema.scan COMMAND sh -c
  "$<TARGET_FILE:doppel_cli> scan -q '${PROJECT_SOURCE_DIR}/examples/news.jsonl' | '${PROJECT_SOURCE_DIR}/tests/schema/check_events' '${PROJECT_SOURCE_DIR}/docs/schema'")
add_test(NAME schema.better_copies COMMAND sh -c
  "d=$(mktemp -d) && $<TARGET_FILE:doppel_cli> serve --state $d/state --set http.listen= --set output.best=longest - < '${PROJECT_SOURCE_DIR}/examples/news.jsonl' > $d/events && grep -q better-copy $d/events && '${PROJECT_SOURCE_DIR}/tests/schema/check_events' '${PROJECT_SOURCE_DIR}/docs/schema' $d/events && rm -r $d")
add_test(NAME schema.refuses COMMAND sh -c
  "$<TARGET_FILE:doppel_cli> scan -q '${PROJECT_SOURCE_DIR}/examples/news.jsonl' | sed 's/\"kind\":/\"sort\":/' | '${PROJECT_SOURCE_DIR}/tests/schema/check_events' '${PROJECT_SOURCE_DIR}/docs/schema'")
set_tests_properties(schema.refuses PROPERTIES WILL_FAIL TRUE)

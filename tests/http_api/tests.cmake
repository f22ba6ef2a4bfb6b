# The API against its description, by schemathesis, in a virtual environment of its own.
add_test(NAME http/openapi
  COMMAND ${CMAKE_CURRENT_LIST_DIR}/openapi_test.sh $<TARGET_FILE:doppel_cli> ${PROJECT_SOURCE_DIR}/docs/openapi.yaml
          ${CMAKE_BINARY_DIR}/schemathesis)
set_tests_properties(http/openapi PROPERTIES LABELS http TIMEOUT 900)

# The API against its description, by schemathesis, in a virtual environment of its own.
add_test(NAME http/openapi
  COMMAND ${CMAKE_CURRENT_LIST_DIR}/openapi_test.sh $<TARGET_FILE:doppel_cli> ${PROJECT_SOURCE_DIR}/docs/openapi.yaml
          ${CMAKE_BINARY_DIR}/schemathesis)
set_tests_properties(http/openapi PROPERTIES LABELS http TIMEOUT 900)
# Bad clients while the stream goes on; alone on the machine, since it compares throughputs.
add_test(NAME http/bad_input
  COMMAND Python3::Interpreter ${CMAKE_CURRENT_LIST_DIR}/bad_input_test.py --binary $<TARGET_FILE:doppel_cli>)
set_tests_properties(http/bad_input PROPERTIES LABELS "http;slow" TIMEOUT 300 RUN_SERIAL ON)
add_test(NAME http/tls COMMAND Python3::Interpreter ${CMAKE_CURRENT_LIST_DIR}/tls_test.py --binary $<TARGET_FILE:doppel_cli>)
set_tests_properties(http/tls PROPERTIES TIMEOUT 300)
# Crawlers that ask before they store; with warcprox in a virtual environment of its own.
add_test(NAME http/crawlers COMMAND Python3::Interpreter ${CMAKE_CURRENT_LIST_DIR}/crawlers_test.py
  --binary $<TARGET_FILE:doppel_cli> --venv ${CMAKE_BINARY_DIR}/warcprox)
set_tests_properties(http/crawlers PROPERTIES LABELS http TIMEOUT 600)

# Pages whose commands are executed, those with Kafka on a broker of their own that the page itself starts.
find_package(Python3 COMPONENTS Interpreter)
if(Python3_FOUND AND NOT DOPPEL_SANITIZE)
  function(page_test page labels)
    set(file docs/${page}.md)
    if(page STREQUAL README)
      set(file README.md)
    endif()
    add_test(NAME docs/${page} COMMAND Python3::Interpreter ${PROJECT_SOURCE_DIR}/tests/docs/run_page.py
      --source ${PROJECT_SOURCE_DIR} --binary $<TARGET_FILE:doppel_cli> ${file})
    set_tests_properties(docs/${page} PROPERTIES TIMEOUT 300 LABELS "${labels}")
  endfunction()
  page_test(README "")
  page_test(scan "")
  page_test(choosing "")
  page_test(configuration "")
  page_test(getting-started "kafka;packaging")
  page_test(operations "kafka;packaging")
  page_test(cluster "kafka;packaging")
  page_test(web-archives "kafka;packaging")
  page_test(signed-records "")
  page_test(parquet "")
  page_test(two-sets "")
  page_test(decontamination "")
  page_test(partial-copies "")
  page_test(crawl-time "packaging")

  # With a PostgreSQL of its own, and DuckDB in the build folder.
  add_test(NAME docs/databases COMMAND ${PROJECT_SOURCE_DIR}/tests/docs/databases_test
    ${PROJECT_SOURCE_DIR} ${Python3_EXECUTABLE} ${CMAKE_BINARY_DIR}/databases-venv $<TARGET_FILE:doppel_cli>)
  set_tests_properties(docs/databases PROPERTIES TIMEOUT 300 LABELS packaging)

  add_test(NAME docs/figures COMMAND ${PROJECT_SOURCE_DIR}/tests/docs/figures_test)
  add_test(NAME docs/all_settings COMMAND ${PROJECT_SOURCE_DIR}/scripts/docs-configuration --check $<TARGET_FILE:doppel_cli>)
endif()

# docs/formats.md shows the bytes that the code writes.
doppel_test_folder(docs)

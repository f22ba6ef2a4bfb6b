# Pages whose commands are executed, on a broker of their own that the page itself starts.
find_package(Python3 COMPONENTS Interpreter)
if(Python3_FOUND AND NOT DOPPEL_SANITIZE)
  foreach(page getting-started)
    add_test(NAME docs/${page} COMMAND Python3::Interpreter ${CMAKE_CURRENT_LIST_DIR}/run_page.py
      --source ${PROJECT_SOURCE_DIR} --binary $<TARGET_FILE:doppel_cli> docs/${page}.md)
    set_tests_properties(docs/${page} PROPERTIES LABELS "kafka;packaging" TIMEOUT 300)
  endforeach()
endif()

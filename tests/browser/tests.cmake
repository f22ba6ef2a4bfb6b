# The status page of a running daemon and the pages that commands write, in a headless Chromium: widths, colour schemes, clicks.
find_program(CHROMIUM chromium)
add_test(NAME browser/page
  COMMAND Python3::Interpreter ${CMAKE_CURRENT_LIST_DIR}/page_test.py --binary $<TARGET_FILE:doppel_cli>
          --chromium ${CHROMIUM} --pictures ${CMAKE_BINARY_DIR}/pictures)
set_tests_properties(browser/page PROPERTIES LABELS browser TIMEOUT 300)

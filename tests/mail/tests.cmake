# Random mails, written by Python's mailbox, read by doppel and by Python's email.
find_package(Python3 3.11 COMPONENTS Interpreter)
if(Python3_FOUND AND NOT DOPPEL_SANITIZE)
  add_test(NAME mail/oracle COMMAND Python3::Interpreter ${CMAKE_CURRENT_LIST_DIR}/oracle_test.py
    --binary $<TARGET_FILE:doppel_cli>)
  set_tests_properties(mail/oracle PROPERTIES TIMEOUT 120)
endif()

# What is installed, packaged and deployed, tried as a user would. Label packaging: in the release build only.
find_package(Python3 COMPONENTS Interpreter)
if(Python3_FOUND AND NOT DOPPEL_SANITIZE)
  set(packaging ${CMAKE_CURRENT_LIST_DIR})
  function(packaging_test name timeout)
    add_test(NAME packaging/${name} COMMAND Python3::Interpreter ${packaging}/${name}_test.py ${ARGN})
    set_tests_properties(packaging/${name} PROPERTIES LABELS packaging TIMEOUT ${timeout} SKIP_RETURN_CODE 77)
  endfunction()
  packaging_test(install 120 --build ${CMAKE_BINARY_DIR})
  packaging_test(unit 120 --source ${PROJECT_SOURCE_DIR} --binary $<TARGET_FILE:doppel_cli>)
  packaging_test(notify 120 --binary $<TARGET_FILE:doppel_cli>)
  packaging_test(deb 600 --build ${CMAKE_BINARY_DIR})
  packaging_test(release 600 --source ${PROJECT_SOURCE_DIR} --build ${CMAKE_BINARY_DIR})
  if(absl_VERSION VERSION_EQUAL 20220623)  # Debian 12's
    packaging_test(tarball 900 --source ${PROJECT_SOURCE_DIR} --binary $<TARGET_FILE:doppel_cli>)
  endif()
  packaging_test(image 1800 --source ${PROJECT_SOURCE_DIR})  # a quarter of an hour where its compiler cache is cold
  # So it begins first, and compiles while other tests wait for brokers: CTest begins those without fixtures last.
  set_tests_properties(packaging/image PROPERTIES COST 900 FIXTURES_REQUIRED packaging_venv)

  add_test(NAME packaging/venv COMMAND ${packaging}/venv $<TARGET_FILE:Python3::Interpreter> ${CMAKE_BINARY_DIR}/packaging-venv)
  set_tests_properties(packaging/venv PROPERTIES LABELS packaging TIMEOUT 300 FIXTURES_SETUP packaging_venv)
  add_test(NAME packaging/deploy COMMAND ${CMAKE_BINARY_DIR}/packaging-venv/bin/python ${packaging}/deploy_test.py
    --source ${PROJECT_SOURCE_DIR} --binary $<TARGET_FILE:doppel_cli>)
  set_tests_properties(packaging/deploy PROPERTIES LABELS packaging TIMEOUT 120 FIXTURES_REQUIRED packaging_venv
    WORKING_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR})

  add_test(NAME packaging/helm COMMAND ${CMAKE_BINARY_DIR}/packaging-venv/bin/python ${packaging}/helm_test.py
    --source ${PROJECT_SOURCE_DIR} --binary $<TARGET_FILE:doppel_cli>)
  set_tests_properties(packaging/helm PROPERTIES LABELS packaging TIMEOUT 120 FIXTURES_REQUIRED packaging_venv)

  add_test(NAME packaging/sbom COMMAND ${CMAKE_BINARY_DIR}/packaging-venv/bin/python ${packaging}/sbom_test.py
    --source ${PROJECT_SOURCE_DIR} --build ${CMAKE_BINARY_DIR})
  set_tests_properties(packaging/sbom PROPERTIES LABELS packaging TIMEOUT 120 FIXTURES_REQUIRED packaging_venv)

  add_test(NAME packaging/consumer COMMAND ${CMAKE_BINARY_DIR}/packaging-venv/bin/python ${packaging}/consumer_test.py
    --source ${PROJECT_SOURCE_DIR} --binary $<TARGET_FILE:doppel_cli> --kafka ${CMAKE_BINARY_DIR}/kafka-tests)
  set_tests_properties(packaging/consumer PROPERTIES LABELS "kafka;packaging" TIMEOUT 300 FIXTURES_REQUIRED "packaging_venv;kafka")
endif()

# The streaming job in a real Hadoop, which is fetched once; skipped where there is no Java.
add_test(NAME lab/hadoop
  COMMAND ${PROJECT_SOURCE_DIR}/scripts/lab-hadoop --binary $<TARGET_FILE:doppel_cli> --sets 2000 --fetch)
set_tests_properties(lab/hadoop PROPERTIES LABELS hadoop SKIP_RETURN_CODE 77 TIMEOUT 600)

# The daemon on a simulated Kafka: see scripts/simulate.
add_library(simulated_kafka STATIC
  ${CMAKE_CURRENT_LIST_DIR}/cluster.cc ${CMAKE_CURRENT_LIST_DIR}/broker.cc ${CMAKE_CURRENT_LIST_DIR}/scheduler.cc)
target_include_directories(simulated_kafka PUBLIC ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/tests)
target_link_libraries(simulated_kafka PUBLIC doppel_app fmt::fmt)
target_link_libraries(test_kafka_unit PRIVATE simulated_kafka)
add_executable(simulate ${CMAKE_CURRENT_LIST_DIR}/simulate.cc ${CMAKE_CURRENT_LIST_DIR}/run.cc ${CMAKE_CURRENT_LIST_DIR}/plan.cc
  ${CMAKE_CURRENT_LIST_DIR}/disk.cc ${CMAKE_CURRENT_LIST_DIR}/documents.cc)
target_link_libraries(simulate PRIVATE simulated_kafka kafka_support CLI11::CLI11 GTest::gtest)
# The same lives for the same code; scripts/simulate finds new ones by a seed of its own.
add_test(NAME simulation/lives COMMAND simulate --lives 12000 --seed 1)
# What was found by other seeds: a daemon reads on in other partitions before it sees that one has lost records; a topic is
# hidden while a request for offsets is carried out; a request for offsets is left over, and the topic is made again or loses
# more records before a start carries it out; brokers stop answering after one has reported the id of the topic before.
add_test(NAME simulation/reads_on COMMAND simulate --replay 303000980)
add_test(NAME simulation/hidden COMMAND simulate --replay 303002054)
add_test(NAME simulation/left_over COMMAND simulate --replay 77000604)
add_test(NAME simulation/left_over_twice COMMAND simulate --replay 501017124)
add_test(NAME simulation/old_answer COMMAND simulate --replay 77000852)
add_test(NAME simulation/mutations COMMAND simulate --mutations --lives 10000 --seed 1)
set_tests_properties(simulation/lives simulation/reads_on simulation/hidden simulation/left_over simulation/left_over_twice
  simulation/old_answer simulation/mutations PROPERTIES LABELS "simulation;slow" TIMEOUT 900)

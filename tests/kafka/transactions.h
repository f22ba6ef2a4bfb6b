#pragma once
// A transactional producer like the daemon's, which a test leads step by step.

#include <string>

#include "kafka/client.h"

namespace doppel::testing {

class Transactions {
 public:
  Transactions(const std::string& bootstrap, const std::string& id, const Properties& more = {})
      : client_(bootstrap, properties(id, more)) {
    error(rd_kafka_init_transactions(client_.handle(), 30'000));
  }
  void begin() { error(rd_kafka_begin_transaction(client_.handle())); }
  void produce(const std::string& topic, const Message& message) { client_.produce(topic, message); }
  void produce(const std::string& topic, const std::string& value) {
    Message m;
    m.value = value;
    produce(topic, m);
  }
  // Returns "" if it was committed, else the name of the error.
  std::string commit(int timeout_ms = 30'000) {
    rd_kafka_error_t* e = rd_kafka_commit_transaction(client_.handle(), timeout_ms);
    std::string out = e == nullptr ? "" : rd_kafka_error_name(e);
    if (e != nullptr) rd_kafka_error_destroy(e);
    return out;
  }
  void abort() { error(rd_kafka_abort_transaction(client_.handle(), 30'000)); }
  void send_offset(const std::string& group, const std::string& topic, int64_t offset) {
    auto* list = rd_kafka_topic_partition_list_new(1);
    rd_kafka_topic_partition_list_add(list, topic.c_str(), 0)->offset = offset;
    const ClientHandle consumer = make_client(RD_KAFKA_CONSUMER, bootstrap_of_group_,
                                              {{"group.id", group}, {"enable.auto.commit", "false"}});
    rd_kafka_consumer_group_metadata_t* metadata = rd_kafka_consumer_group_metadata(consumer.get());
    rd_kafka_error_t* e = rd_kafka_send_offsets_to_transaction(client_.handle(), list, metadata, 30'000);
    rd_kafka_consumer_group_metadata_destroy(metadata);
    rd_kafka_topic_partition_list_destroy(list);
    error(e);
  }
  void set_bootstrap_of_group(const std::string& bootstrap) { bootstrap_of_group_ = bootstrap; }

 private:
  static Properties properties(const std::string& id, Properties more) {
    more["transactional.id"] = id;
    return more;
  }
  static void error(rd_kafka_error_t* e) {
    if (e == nullptr) return;
    const std::string text = rd_kafka_error_string(e);
    rd_kafka_error_destroy(e);
    throw KafkaError(text);
  }
  Client client_;
  std::string bootstrap_of_group_;
};

}  // namespace doppel::testing

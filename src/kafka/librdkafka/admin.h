#pragma once
// Lists, creates and describes topics with librdkafka's metadata and admin calls. Each function implements
// one of Cluster; `client` may be any client.

#include <array>
#include <string>
#include <vector>

#include "base/status.h"
#include "kafka/cluster.h"
#include "kafka/librdkafka/client.h"

namespace doppel::kafka {

absl::StatusOr<std::string> cluster_id(rd_kafka_t* client);
absl::StatusOr<std::vector<TopicPartitions>> list_topics(rd_kafka_t* client);
// With `only_ask` the broker validates the request but creates nothing.
absl::Status create_topic(rd_kafka_t* client, const TopicSpec& spec, bool only_ask = false);
absl::StatusOr<std::vector<std::string>> topic_configs(rd_kafka_t* client, const std::string& topic,
                                                       const std::vector<std::string>& names);
// The same of one broker; the settings of a broker are readable with DescribeConfigs on the cluster.
absl::StatusOr<std::vector<std::string>> broker_configs(rd_kafka_t* client,
                                                        const std::vector<std::string>& names);

// As Cluster::topic_ids().
absl::StatusOr<std::vector<std::string>> topic_ids(rd_kafka_t* client,
                                                   const std::vector<std::string>& topics);

// Makes one call of librdkafka's admin interface and waits for the answer.
inline constexpr int kAdminMs = 15'000;

struct DestroyQueue {
  void operator()(rd_kafka_queue_t* queue) const { rd_kafka_queue_destroy(queue); }
};
struct DestroyEvent {
  void operator()(rd_kafka_event_t* event) const { rd_kafka_event_destroy(event); }
};
using Event = std::unique_ptr<rd_kafka_event_t, DestroyEvent>;

#if RD_KAFKA_VERSION >= 0x020300ff  // DescribeTopics
struct DestroyCollection {
  void operator()(rd_kafka_TopicCollection_t* topics) const { rd_kafka_TopicCollection_destroy(topics); }
};
using TopicCollection = std::unique_ptr<rd_kafka_TopicCollection_t, DestroyCollection>;

// Of different topics.
inline TopicCollection topic_collection(const std::vector<std::string>& topics) {
  std::vector<const char*> names;
  names.reserve(topics.size());
  for (const std::string& name : topics) names.push_back(name.c_str());
  return TopicCollection(rd_kafka_TopicCollection_of_topic_names(names.data(), names.size()));
}
#endif

// `call` gets options and queue for the request. `what` begins the error's message. The answer holds no error
// of the whole request, but may hold errors of single topics.
template <typename Call>
absl::StatusOr<Event> ask_admin(rd_kafka_t* client, rd_kafka_admin_op_t kind, const std::string& what,
                                const Call& call) {
  const std::unique_ptr<rd_kafka_queue_t, DestroyQueue> queue(rd_kafka_queue_new(client));
  rd_kafka_AdminOptions_t* options = rd_kafka_AdminOptions_new(client, kind);
  std::array<char, 256> message{};
  rd_kafka_AdminOptions_set_request_timeout(options, kAdminMs, message.data(), message.size());
  call(options, queue.get());
  rd_kafka_AdminOptions_destroy(options);
  Event event(rd_kafka_queue_poll(queue.get(), 2 * kAdminMs));
  if (event == nullptr) return absl::UnavailableError(what + ": no answer from the broker");
  const rd_kafka_resp_err_t code = rd_kafka_event_error(event.get());
  if (code != RD_KAFKA_RESP_ERR_NO_ERROR) return error(what, code, rd_kafka_event_error_string(event.get()));
  return event;
}

}  // namespace doppel::kafka

#pragma once
// Makes one call of librdkafka's admin interface and waits for the answer.

#include <array>
#include <string>
#include <vector>

#include "base/status.h"
#include "kafka/librdkafka/client.h"

namespace doppel::kafka {

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

// Finds out what we may do with topics. Newer libraries ask the broker for the list of rights (KIP-430). With
// older ones this tries: it fetches for Read, and for Write it sends a record with a number of
// acknowledgements that no broker accepts. Brokers check the rights first and then refuse the record, so they
// never store it.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/status.h"
#include "kafka/librdkafka/admin.h"
#include "kafka/librdkafka/connect.h"

namespace doppel::kafka {
namespace {

using namespace std::chrono_literals;
constexpr int kAskMs = 5'000;

absl::Status denied(const std::string& topic, std::string_view right) {
  return absl::PermissionDeniedError(fmt::format("the right {} on the topic {} is missing", right, topic));
}
absl::Status unsaid(const std::string& topic) {
  return absl::UnavailableError("the broker did not report the rights on the topic " + topic);
}

}  // namespace

std::vector<absl::Status> try_to_make(const ClientOptions& options, const std::vector<TopicSpec>& topics) {
  std::vector<absl::Status> out(topics.size());
  if (topics.empty()) return out;
  const absl::StatusOr<Client> client = make_consumer(options, {{"log_level", "0"}});
  for (size_t i = 0; i < topics.size(); ++i) {
    out[i] = client.ok() ? create_topic(client->get(), topics[i], true) : client.status();
    if (absl::IsPermissionDenied(out[i])) out[i] = denied(topics[i].name, "Create");
  }
  return out;
}

// Brokers check the right on the group before they look at the topic, and nothing is stored for a topic that
// does not exist.
absl::Status try_group(const ClientOptions& options, const std::string& group) {
  const absl::StatusOr<Client> client = make_consumer(options, {{"log_level", "0"}});
  if (!client.ok()) return client.status();
  const PartitionList list(rd_kafka_topic_partition_list_new(1));
  rd_kafka_topic_partition_list_add(list.get(), "doppel-asks-for-rights.no-such-topic", 0)->offset = 0;
  rd_kafka_AlterConsumerGroupOffsets_t* change =
      rd_kafka_AlterConsumerGroupOffsets_new(group.c_str(), list.get());
  const absl::StatusOr<Event> event =
      ask_admin(client->get(), RD_KAFKA_ADMIN_OP_ALTERCONSUMERGROUPOFFSETS, "rights",
                [&](auto* admin_options, auto* queue) {
                  rd_kafka_AlterConsumerGroupOffsets(client->get(), &change, 1, admin_options, queue);
                });
  rd_kafka_AlterConsumerGroupOffsets_destroy(change);
  const auto refused = [](rd_kafka_resp_err_t code) {
    return code == RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED;
  };
  bool denied = absl::IsPermissionDenied(event.status());
  if (event.ok()) {
    size_t n = 0;
    const rd_kafka_group_result_t** groups = rd_kafka_AlterConsumerGroupOffsets_result_groups(
        rd_kafka_event_AlterConsumerGroupOffsets_result(event->get()), &n);
    for (size_t i = 0; i < n; ++i) {
      if (const rd_kafka_error_t* failed = rd_kafka_group_result_error(groups[i]))
        denied = denied || refused(rd_kafka_error_code(failed));
      const rd_kafka_topic_partition_list_t* parts = rd_kafka_group_result_partitions(groups[i]);
      for (int p = 0; parts != nullptr && p < parts->cnt; ++p)
        denied = denied || refused(parts->elems[p].err);
    }
  } else if (!denied) {
    return absl::UnavailableError(event.status().message());
  }
  if (!denied) return absl::OkStatus();
  return absl::PermissionDeniedError(fmt::format("the right Read on the group {} is missing", group));
}

// Brokers check the right on the id before they refuse the time-out, and before they look for the id's owner.
// Those that allow the largest time-out would make us the owner; if they hide this, they do so: the owner
// finds no claim in its log and goes on (docs/adr/0018).
absl::Status try_transactional_id(const ClientOptions& options, const std::string& id) {
  constexpr const char* kLargest = "2147483647";
  const absl::StatusOr<Client> client = make_producer(options,
                                                      {{"transactional.id", id},
                                                       {"transaction.timeout.ms", kLargest},
                                                       {"message.timeout.ms", "5000"},
                                                       // The refusal is fatal, and the library would log it.
                                                       {"log.queue", "true"}},
                                                      nullptr, nullptr, nullptr);
  if (!client.ok()) return client.status();
  const auto allowed = broker_configs(client->get(), {"transaction.max.timeout.ms"});
  if (allowed.ok() && allowed->front() == kLargest)
    return absl::FailedPreconditionError(
        fmt::format("the right Write on the transactional id {} is not checked: the brokers allow every "
                    "time-out (transaction.max.timeout.ms={}), so asking would fence a daemon that runs",
                    id, kLargest));
  rd_kafka_error_t* failed = rd_kafka_init_transactions(client->get(), kAskMs);
  if (failed == nullptr) return absl::OkStatus();
  const rd_kafka_resp_err_t code = rd_kafka_error_code(failed);
  const std::string says = rd_kafka_error_string(failed);
  rd_kafka_error_destroy(failed);
  if (code == RD_KAFKA_RESP_ERR_TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
    return absl::PermissionDeniedError(
        fmt::format("the right Write on the transactional id {} is missing", id));
  if (code == RD_KAFKA_RESP_ERR_INVALID_TRANSACTION_TIMEOUT) return absl::OkStatus();
  return absl::UnavailableError("rights: " + says);
}

#if RD_KAFKA_VERSION >= 0x020300ff

namespace {

absl::Status verdict(const TopicUse& use, const rd_kafka_TopicDescription_t* topic) {
  size_t n = 0;
  const rd_kafka_AclOperation_t* rights = rd_kafka_TopicDescription_authorized_operations(topic, &n);
  if (rights == nullptr || n == 0) return unsaid(use.topic);  // an old broker, or one without an authorizer
  const auto has = [&](rd_kafka_AclOperation_t right) {
    return std::find(rights, rights + n, right) != rights + n ||
           std::find(rights, rights + n, RD_KAFKA_ACL_OPERATION_ALL) != rights + n;
  };
  if (use.read && !has(RD_KAFKA_ACL_OPERATION_READ)) return denied(use.topic, "Read");
  if (use.write && !has(RD_KAFKA_ACL_OPERATION_WRITE)) return denied(use.topic, "Write");
  return absl::OkStatus();
}

}  // namespace

std::vector<absl::Status> try_rights(const ClientOptions& options, const std::string&,
                                     const std::vector<TopicUse>& uses) {
  std::vector<absl::Status> out;
  for (const TopicUse& use : uses) out.push_back(unsaid(use.topic));
  const absl::StatusOr<Client> client = make_consumer(options, {{"log_level", "0"}});
  if (!client.ok() || uses.empty()) return out;
  std::set<std::string> all;
  for (const TopicUse& use : uses) all.insert(use.topic);
  const TopicCollection topics = topic_collection({all.begin(), all.end()});
  const absl::StatusOr<Event> event = ask_admin(
      client->get(), RD_KAFKA_ADMIN_OP_DESCRIBETOPICS, "rights", [&](auto* admin_options, auto* queue) {
        if (rd_kafka_error_t* failed =
                rd_kafka_AdminOptions_set_include_authorized_operations(admin_options, 1))
          rd_kafka_error_destroy(failed);
        rd_kafka_DescribeTopics(client->get(), topics.get(), admin_options, queue);
      });
  if (!event.ok()) return out;
  size_t n = 0;
  const rd_kafka_TopicDescription_t** found =
      rd_kafka_DescribeTopics_result_topics(rd_kafka_event_DescribeTopics_result(event->get()), &n);
  for (size_t i = 0; i < n; ++i) {
    if (rd_kafka_error_code(rd_kafka_TopicDescription_error(found[i])) != RD_KAFKA_RESP_ERR_NO_ERROR)
      continue;
    for (size_t u = 0; u < uses.size(); ++u)
      if (uses[u].topic == rd_kafka_TopicDescription_name(found[i])) out[u] = verdict(uses[u], found[i]);
  }
  return out;
}

#else

namespace {

constexpr std::chrono::seconds kPatience(5);

using Answers = std::map<std::string, rd_kafka_resp_err_t>;  // by topic

struct DestroyMessage {
  void operator()(rd_kafka_message_t* message) const { rd_kafka_message_destroy(message); }
};

Answers try_to_read(const ClientOptions& options, const std::string& group,
                    const std::set<std::string>& topics) {
  Answers out;
  if (topics.empty()) return out;
  const absl::StatusOr<Client> client = make_consumer(options, {{"group.id", group},
                                                                {"enable.auto.commit", "false"},
                                                                {"enable.partition.eof", "true"},
                                                                {"fetch.wait.max.ms", "10"},
                                                                {"log_level", "0"}});
  if (!client.ok()) return out;
  const PartitionList list(rd_kafka_topic_partition_list_new(static_cast<int>(topics.size())));
  for (const std::string& topic : topics)
    rd_kafka_topic_partition_list_add(list.get(), topic.c_str(), 0)->offset = RD_KAFKA_OFFSET_END;
  if (rd_kafka_assign(client->get(), list.get()) != RD_KAFKA_RESP_ERR_NO_ERROR) return out;
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  while (out.size() < topics.size() && std::chrono::steady_clock::now() < deadline) {
    const std::unique_ptr<rd_kafka_message_t, DestroyMessage> message(
        rd_kafka_consumer_poll(client->get(), 100));
    // Each of these is an answer: a record, the end of the partition, a refusal.
    if (message != nullptr && message->rkt != nullptr)
      out.try_emplace(rd_kafka_topic_name(message->rkt), message->err);
  }
  rd_kafka_assign(client->get(), nullptr);
  return out;
}

void delivered(rd_kafka_t*, const rd_kafka_message_t* message, void* answers) {
  static_cast<Answers*>(answers)->try_emplace(rd_kafka_topic_name(message->rkt), message->err);
}

Answers try_to_write(const ClientOptions& options, const std::set<std::string>& topics) {
  Answers out;
  if (topics.empty()) return out;
  const absl::StatusOr<Client> client = make_producer(options,
                                                      {{"acks", "2"},  // no broker accepts this
                                                       {"enable.idempotence", "false"},
                                                       {"retries", "0"},
                                                       {"linger.ms", "0"},
                                                       {"message.timeout.ms", "5000"},
                                                       {"log_level", "0"}},
                                                      delivered, nullptr, &out);
  if (!client.ok()) return out;
  for (const std::string& topic : topics) {
    rd_kafka_producev(client->get(), RD_KAFKA_V_TOPIC(topic.c_str()), RD_KAFKA_V_PARTITION(0),
                      RD_KAFKA_V_KEY("doppel", 6), RD_KAFKA_V_END);
  }
  rd_kafka_flush(client->get(), static_cast<int>(std::chrono::milliseconds(kPatience).count()));
  return out;
}

}  // namespace

std::vector<absl::Status> try_rights(const ClientOptions& options, const std::string& group,
                                     const std::vector<TopicUse>& uses) {
  std::set<std::string> read, write;
  for (const TopicUse& use : uses) {
    if (use.read) read.insert(use.topic);
    if (use.write) write.insert(use.topic);
  }
  const Answers reads = try_to_read(options, group, read), writes = try_to_write(options, write);
  const auto refused = [](const Answers& answers, const std::string& topic) {
    const auto at = answers.find(topic);
    return at != answers.end() && at->second == RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED;
  };
  std::vector<absl::Status> out;
  for (const TopicUse& use : uses) {
    if (use.read && refused(reads, use.topic)) {
      out.push_back(denied(use.topic, "Read"));
    } else if (use.write && refused(writes, use.topic)) {
      out.push_back(denied(use.topic, "Write"));
    } else if ((use.read && !reads.contains(use.topic)) || (use.write && !writes.contains(use.topic))) {
      out.push_back(unsaid(use.topic));
    } else {
      out.push_back(absl::OkStatus());
    }
  }
  return out;
}

#endif

}  // namespace doppel::kafka

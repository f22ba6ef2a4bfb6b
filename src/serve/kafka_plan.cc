#include "serve/kafka_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/log.h"
#include "base/notify.h"
#include "base/status.h"
#include "stream/kafka/topics.h"

namespace doppel {
namespace {

using kafka::TopicSpec;

constexpr int64_t kRecordOverhead = 128 << 10;  // metadata and the rest, beside a set
constexpr int64_t kEventBytes = 1 << 20;

int64_t number(const std::string& text, int64_t otherwise) {
  int64_t out = otherwise;
  std::from_chars(text.data(), text.data() + text.size(), out);
  return out;
}

// Copies of documents keep the documents' times: a broker that deletes what is a week old would delete those
// of an old crawl as soon as they are written.
constexpr std::pair<const char*, const char*> kKeepForEver{"retention.ms", "-1"};

using Configs = std::vector<std::pair<std::string, std::string>>;

absl::StatusOr<kafka::OutputTopic> output_topic(rd_kafka_t* client, const Options& o, const std::string& name,
                                                const std::string& purpose, int64_t message_bytes,
                                                const Configs& more = {}) {
  kafka::OutputTopic out{.name = name};
  if (name.empty()) return out;
  Configs wanted{{"max.message.bytes", fmt::format("{}", message_bytes)}};
  wanted.insert(wanted.end(), more.begin(), more.end());
  const TopicSpec spec{.name = name,
                       .purpose = purpose,
                       .partitions = o.kafka.partitions,
                       .replication = o.kafka.replication == 0 ? -1 : o.kafka.replication,
                       .configs = std::move(wanted)};
  RETURN_IF_ERROR(kafka::ensure_topic(client, spec, o.kafka.create_topics, o.kafka.brokers));
  ASSIGN_OR_RETURN(const std::vector<std::string> configs,
                   kafka::topic_configs(client, name, {"max.message.bytes"}));
  out.message_bytes_max = number(configs[0], out.message_bytes_max);
  return out;
}

// As output_topic, of copies of documents.
absl::StatusOr<kafka::OutputTopic> copies_topic(rd_kafka_t* client, const Options& o, const std::string& name,
                                                const std::string& purpose, int64_t message_bytes) {
  ASSIGN_OR_RETURN(kafka::OutputTopic out,
                   output_topic(client, o, name, purpose, message_bytes, {kKeepForEver}));
  if (name.empty()) return out;
  ASSIGN_OR_RETURN(
      const std::vector<std::string> configs,
      kafka::topic_configs(client, name, {"cleanup.policy", "message.timestamp.type", "retention.ms"}));
  const int64_t retention_ms = number(configs[2], -1);
  if (configs[0].find("delete") != std::string::npos && configs[1] == "CreateTime" && retention_ms >= 0) {
    log::warn("a topic of copies loses those of old documents: copies keep the documents' times",
              {{"topic", name},
               {"retention_ms", retention_ms},
               {"to_keep_them", "kafka-configs.sh --alter --entity-type topics --entity-name " + name +
                                    " --add-config retention.ms=-1"}});
  }
  return out;
}

// The index log must be one partition, compacted and never deleted from, with room for the largest record.
absl::Status prepare_index_log(rd_kafka_t* client, const Options& o, KafkaPlan& plan) {
  const std::string& name = o.kafka.index_log;
  const int64_t needed = static_cast<int64_t>(o.max_record) + kRecordOverhead;
  const TopicSpec spec{
      .name = name,
      .purpose = "index log",
      .partitions = 1,
      .replication = o.kafka.replication == 0 ? -1 : o.kafka.replication,
      .configs = {{"cleanup.policy", "compact"},
                  {"max.message.bytes", fmt::format("{}", std::max<int64_t>(needed, 2 << 20))},
                  {"min.compaction.lag.ms", "60000"}}};
  RETURN_IF_ERROR(kafka::ensure_topic(client, spec, o.kafka.create_topics, o.kafka.brokers));
  ASSIGN_OR_RETURN(const auto found, kafka::find_topics(client, {name}));
  if (!found.empty() && found[0].partitions.size() != 1) {
    return absl::FailedPreconditionError(fmt::format(
        "the index log {} has {} partitions; it must have one: its order is the order of the index", name,
        found[0].partitions.size()));
  }
  ASSIGN_OR_RETURN(
      const std::vector<std::string> configs,
      kafka::topic_configs(client, name, {"cleanup.policy", "max.message.bytes", "delete.retention.ms"}));
  const auto alter = [&](const std::string& what, const std::string& setting) {
    return absl::FailedPreconditionError(fmt::format(
        "the index log {}: {}; run:\n  kafka-configs.sh --bootstrap-server {} --alter --entity-type topics "
        "--entity-name {} --add-config {}",
        name, what, o.kafka.brokers, name, setting));
  };
  if (configs[0] != "compact")
    return alter(fmt::format("cleanup.policy is {}, which loses the index", configs[0]),
                 "cleanup.policy=compact");
  plan.index_log = {.name = name, .message_bytes_max = number(configs[1], 1'000'000)};
  if (plan.index_log.message_bytes_max < needed) {
    return alter(fmt::format("max.message.bytes is {}, and max_record ({}) needs {}", configs[1],
                             o.max_record, needed),
                 fmt::format("max.message.bytes={}", needed));
  }
  plan.log_delete_retention_ms = number(configs[2], plan.log_delete_retention_ms);
  return absl::OkStatus();
}

absl::Status fill(const Options& o, KafkaPlan& plan) {
  // A producer: it belongs to no group.
  ASSIGN_OR_RETURN(const kafka::Client client, kafka::make_producer(plan.client, {}));
  ASSIGN_OR_RETURN(plan.cluster, kafka::cluster_id(client.get()));
  RETURN_IF_ERROR(prepare_index_log(client.get(), o, plan));
  ASSIGN_OR_RETURN(plan.events, output_topic(client.get(), o, o.output.topic, "events", kEventBytes));
  // What comes in must fit: dead letters and unique documents are copies of it.
  int64_t input = kEventBytes;
  ASSIGN_OR_RETURN(const auto topics, kafka::find_topics(client.get(), o.kafka.topics));
  for (const auto& topic : topics) {
    ASSIGN_OR_RETURN(const auto configs,
                     kafka::topic_configs(client.get(), topic.topic, {"max.message.bytes"}));
    input = std::max(input, number(configs[0], 0));
  }
  const int64_t copy = std::min<int64_t>(input + (64 << 10), 1'000'000'000);
  ASSIGN_OR_RETURN(plan.dead_letters,
                   copies_topic(client.get(), o, o.output.dead_letters, "dead letters", copy));
  ASSIGN_OR_RETURN(plan.unique,
                   copies_topic(client.get(), o, o.output.unique_topic, "unique documents", copy));
  for (const kafka::OutputTopic& topic : {plan.events, plan.dead_letters, plan.unique, plan.index_log})
    plan.message_bytes_max = std::max(plan.message_bytes_max, topic.message_bytes_max);
  plan.message_bytes_max = std::min<int64_t>(plan.message_bytes_max, 1'000'000'000);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<kafka::ClientOptions> kafka_client(const Options& o) {
  kafka::ClientOptions client{.brokers = o.kafka.brokers, .properties = {}, .client_id = o.kafka.client_id};
  for (const std::string& item : o.kafka.properties) {
    const size_t equals = item.find('=');
    client.properties.emplace_back(item.substr(0, equals), item.substr(equals + 1));
  }
  RETURN_IF_ERROR(kafka::check_properties(client));
  return client;
}

absl::StatusOr<KafkaPlan> plan_kafka(const Options& o, const std::function<bool()>& stop) {
  KafkaPlan plan;
  ASSIGN_OR_RETURN(plan.client, kafka_client(o));
  if (o.kafka.topics.empty()) return invalid("kafka.topics: name at least one input topic");
  if (o.output.topic.empty()) return invalid("output.topic: name the topic of events");
  for (const std::string& ours :
       {o.output.topic, o.output.dead_letters, o.output.unique_topic, o.kafka.index_log}) {
    if (!ours.empty() &&
        std::find(o.kafka.topics.begin(), o.kafka.topics.end(), ours) != o.kafka.topics.end())
      return invalid(
          fmt::format("kafka.topics: {} is also an output: doppel would read what it writes", ours));
  }
  plan.transactional_id =
      o.kafka.transactional_id.empty() ? "doppel-" + o.kafka.index_log : o.kafka.transactional_id;
  bool told = false;
  while (true) {
    absl::Status status = fill(o, plan);
    if (status.ok()) return plan;
    if (!absl::IsUnavailable(status)) return status;
    if (stop()) return absl::CancelledError("stopped while waiting for Kafka");
    if (!told)
      log::warn("waiting for Kafka", {{"brokers", o.kafka.brokers}, {"says", std_sv(status.message())}});
    told = true;
    notify::still_starting("waiting for Kafka");
  }
}

}  // namespace doppel

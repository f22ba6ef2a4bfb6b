#include "kafka/librdkafka/admin.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/status.h"

namespace doppel::kafka {
namespace {

constexpr int kIdMs = 1'000;

}  // namespace

absl::Status create_topic(rd_kafka_t* client, const TopicSpec& spec, bool only_ask) {
  const std::string what = fmt::format("cannot create the topic {} ({})", spec.name, spec.purpose);
  std::array<char, 256> message{};
  rd_kafka_NewTopic_t* topic = rd_kafka_NewTopic_new(spec.name.c_str(), spec.partitions, spec.replication,
                                                     message.data(), message.size());
  if (topic == nullptr) return invalid(fmt::format("{}: {}", what, message.data()));
  for (const auto& [name, value] : spec.configs)
    rd_kafka_NewTopic_set_config(topic, name.c_str(), value.c_str());
  auto event = ask_admin(client, RD_KAFKA_ADMIN_OP_CREATETOPICS, what, [&](auto* options, auto* queue) {
    if (only_ask) rd_kafka_AdminOptions_set_validate_only(options, 1, message.data(), message.size());
    rd_kafka_CreateTopics(client, &topic, 1, options, queue);
  });
  rd_kafka_NewTopic_destroy(topic);
  RETURN_IF_ERROR(event.status());
  const rd_kafka_CreateTopics_result_t* result = rd_kafka_event_CreateTopics_result(event->get());
  size_t n = 0;
  const rd_kafka_topic_result_t** topics = rd_kafka_CreateTopics_result_topics(result, &n);
  for (size_t i = 0; i < n; ++i) {
    const rd_kafka_resp_err_t code = rd_kafka_topic_result_error(topics[i]);
    if (code == RD_KAFKA_RESP_ERR_NO_ERROR) continue;
    if (code == RD_KAFKA_RESP_ERR_TOPIC_ALREADY_EXISTS)
      return absl::AlreadyExistsError(fmt::format("the topic {} exists", spec.name));
    const char* answered = rd_kafka_topic_result_error_string(topics[i]);
    const std::string reason = answered != nullptr ? answered : rd_kafka_err2str(code);
    const absl::Status failed = error(what, code, reason);
    // "All brokers are currently fenced": they have no session, such as after a pause, and will have one.
    const bool may_pass =
        code == RD_KAFKA_RESP_ERR_INVALID_REPLICATION_FACTOR && reason.find("fenced") != std::string::npos;
    return may_pass ? absl::UnavailableError(failed.message()) : failed;
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<TopicPartitions>> list_topics(rd_kafka_t* client) {
  const rd_kafka_metadata_t* answer = nullptr;
  const rd_kafka_resp_err_t code = rd_kafka_metadata(client, 1, nullptr, &answer, kAdminMs);
  if (code != RD_KAFKA_RESP_ERR_NO_ERROR) return error("kafka: cannot list the topics", code);
  const MetadataAnswer metadata(answer);
  std::vector<TopicPartitions> out;
  for (int t = 0; t < metadata->topic_cnt; ++t) {
    const rd_kafka_metadata_topic_t& topic = metadata->topics[t];
    if (topic.err != RD_KAFKA_RESP_ERR_NO_ERROR || topic.partition_cnt == 0) continue;
    TopicPartitions& found = out.emplace_back();
    found.topic = topic.topic;
    for (int p = 0; p < topic.partition_cnt; ++p) found.partitions.push_back(topic.partitions[p].id);
    std::sort(found.partitions.begin(), found.partitions.end());
  }
  std::sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.topic < b.topic; });
  return out;
}

absl::StatusOr<std::string> cluster_id(rd_kafka_t* client) {
  char* id = rd_kafka_clusterid(client, 0);
  // The library asks when it connects, and again after five minutes. It drops the answer of a broker without
  // session, such as one that was paused: this broker knows no broker, not even itself.
  for (int waited_ms = 0; id == nullptr && waited_ms < kAdminMs; waited_ms += kIdMs) {
    const rd_kafka_metadata_t* answer = nullptr;
    rd_kafka_metadata(client, 0, nullptr, &answer, kIdMs);
    const MetadataAnswer unused(answer);
    id = rd_kafka_clusterid(client, 0);
  }
  if (id == nullptr) return absl::UnavailableError("kafka: the broker did not report its cluster's id");
  std::string out = id;
  rd_kafka_mem_free(client, id);
  return out;
}

namespace {

absl::StatusOr<std::vector<std::string>> read_configs(rd_kafka_t* client, rd_kafka_ResourceType_t kind,
                                                      const std::string& name, const std::string& what,
                                                      const std::vector<std::string>& names) {
  rd_kafka_ConfigResource_t* resource = rd_kafka_ConfigResource_new(kind, name.c_str());
  auto event = ask_admin(client, RD_KAFKA_ADMIN_OP_DESCRIBECONFIGS, what, [&](auto* options, auto* queue) {
    rd_kafka_DescribeConfigs(client, &resource, 1, options, queue);
  });
  rd_kafka_ConfigResource_destroy(resource);
  RETURN_IF_ERROR(event.status());
  size_t n = 0;
  const rd_kafka_ConfigResource_t** resources =
      rd_kafka_DescribeConfigs_result_resources(rd_kafka_event_DescribeConfigs_result(event->get()), &n);
  std::vector<std::string> out(names.size());
  for (size_t r = 0; r < n; ++r) {
    const rd_kafka_resp_err_t code = rd_kafka_ConfigResource_error(resources[r]);
    if (code != RD_KAFKA_RESP_ERR_NO_ERROR) return error(what, code);
    size_t entries = 0;
    const rd_kafka_ConfigEntry_t** entry = rd_kafka_ConfigResource_configs(resources[r], &entries);
    for (size_t i = 0; i < entries; ++i) {
      const auto at = std::find(names.begin(), names.end(), rd_kafka_ConfigEntry_name(entry[i]));
      const char* value = rd_kafka_ConfigEntry_value(entry[i]);
      if (at != names.end() && value != nullptr) out[at - names.begin()] = value;
    }
  }
  return out;
}

}  // namespace

absl::StatusOr<std::vector<std::string>> topic_configs(rd_kafka_t* client, const std::string& topic,
                                                       const std::vector<std::string>& names) {
  return read_configs(client, RD_KAFKA_RESOURCE_TOPIC, topic, "cannot read the settings of topic " + topic,
                      names);
}

absl::StatusOr<std::vector<std::string>> broker_configs(rd_kafka_t* client,
                                                        const std::vector<std::string>& names) {
  const rd_kafka_metadata_t* answer = nullptr;
  const rd_kafka_resp_err_t code = rd_kafka_metadata(client, 0, nullptr, &answer, kAdminMs);
  if (code != RD_KAFKA_RESP_ERR_NO_ERROR) return error("kafka: cannot list the brokers", code);
  const MetadataAnswer metadata(answer);
  if (metadata->broker_cnt == 0) return absl::UnavailableError("kafka: there is no broker");
  const std::string id = fmt::format("{}", metadata->brokers[0].id);
  return read_configs(client, RD_KAFKA_RESOURCE_BROKER, id, "cannot read the settings of broker " + id,
                      names);
}

#if RD_KAFKA_VERSION >= 0x020300ff

absl::StatusOr<std::vector<std::string>> topic_ids(rd_kafka_t* client,
                                                   const std::vector<std::string>& topics) {
  std::vector<std::string> out(topics.size());
  if (topics.empty()) return out;
  const TopicCollection asked = topic_collection(topics);
  ASSIGN_OR_RETURN(const Event event,
                   ask_admin(client, RD_KAFKA_ADMIN_OP_DESCRIBETOPICS, "cannot read the ids of topics",
                             [&](auto* options, auto* queue) {
                               rd_kafka_DescribeTopics(client, asked.get(), options, queue);
                             }));
  size_t n = 0;
  const rd_kafka_TopicDescription_t** found =
      rd_kafka_DescribeTopics_result_topics(rd_kafka_event_DescribeTopics_result(event.get()), &n);
  for (size_t i = 0; i < n; ++i) {
    const rd_kafka_Uuid_t* id = rd_kafka_TopicDescription_topic_id(found[i]);
    if (rd_kafka_error_code(rd_kafka_TopicDescription_error(found[i])) != RD_KAFKA_RESP_ERR_NO_ERROR ||
        id == nullptr ||
        (rd_kafka_Uuid_most_significant_bits(id) == 0 && rd_kafka_Uuid_least_significant_bits(id) == 0))
      continue;  // brokers before 2.8 know no ids
    for (size_t t = 0; t < topics.size(); ++t)
      if (topics[t] == rd_kafka_TopicDescription_name(found[i])) out[t] = rd_kafka_Uuid_base64str(id);
  }
  return out;
}

#else

absl::StatusOr<std::vector<std::string>> topic_ids(rd_kafka_t*, const std::vector<std::string>& topics) {
  return std::vector<std::string>(topics.size());
}

#endif

}  // namespace doppel::kafka

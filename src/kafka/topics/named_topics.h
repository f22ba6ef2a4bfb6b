#pragma once
// Looks up every topic that a configuration names: which exist, which are missing and what is wrong with
// them. Creates nothing.

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "config/options.h"
#include "kafka/source.h"
#include "kafka/topics.h"

namespace doppel {

struct KafkaTopic {
  enum class State { right, missing, wrong };

  std::string key;      // such as "output.topic"
  std::string purpose;  // such as "events"
  std::string name;     // or a regular expression
  bool reads = false, writes = false;
  std::optional<kafka::TopicSpec> spec;  // how doppel would create it; it never creates inputs

  State state = State::right;
  std::vector<std::string> fits;  // the topics that a regular expression matches
  std::string says;               // what is missing or wrong, and the remedy; may have several lines
  std::string warning, remedy;    // for a setting that is allowed but may be a mistake
  std::string unreadable;         // a right that only recovery needs is missing, or one cannot be checked
  size_t partitions = 0;
  int64_t message_bytes_max = 0;     // max.message.bytes of the topic
  int64_t delete_retention_ms = -1;  // only for the index log
};

// Returns the topics in this order: kafka.topics, index log, answers, events, dead letters, unique documents.
// For a signer: kafka.topics and the topic of signed records. Problems of a topic are in the list; an error
// means that the brokers could not be asked (cluster.h).
absl::StatusOr<std::vector<KafkaTopic>> look_at_topics(const Options& options, kafka::Cluster& cluster);

// Room in a signed record for everything except its set: metadata, slices, scheme and Kafka's overhead.
inline constexpr int64_t kBesidesSet = 256 << 10;
std::string transactional_id(const Options& options);
// The group of the daemons of an index, of which one serves.
std::string daemons_group(const std::string& transactional_id);
// The group of all signers that write a topic.
std::string sign_group(const Options& options, const std::string& topic);
// Returns how to create the topic that signers write, and the message if it has more than one partition.
kafka::TopicSpec signed_topic(const Options& options, const std::string& name);
std::string one_partition(const std::string& topic, size_t partitions);

// The topic in which the processes of an index on many machines ask and answer. No record is larger than
// kAnswerBytes.
std::string answers_topic(const Options& options);
inline constexpr int64_t kAnswerBytes = 8 << 20;

// The configured inputs, with the topics that doppel writes as `never`.
kafka::Inputs kafka_inputs(const Options& options);
// Keeps a transaction far below its time-out, and two of them below shutdown_timeout.
kafka::Pace kafka_pace(const Options& options, int64_t transaction_timeout_ms);
// Options to read `inputs` in the configured group; `stop` ends waiting.
kafka::KafkaSourceOptions kafka_source_options(const Options& options, kafka::Inputs inputs,
                                               std::function<bool()> stop);

// Reads a topic of events once, from its beginning to its current end.

// Visits every committed event in the order of the records' timestamps. `place` is topic/offset. Calls
// `progress` with the share of the topic that has been read, between 0 and 1. An error of `visit` ends the
// call.
absl::Status read_event_topic(
    const Options& options, const std::string& topic,
    const std::function<absl::Status(const std::string& place, const std::string& event)>& visit,
    const std::function<void(double)>& progress);

}  // namespace doppel

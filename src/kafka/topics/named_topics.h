#pragma once
// Every topic that a configuration names, as the cluster has it: what is there, what is missing, and what is
// wrong with it. It creates nothing.

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "config/options.h"
#include "kafka/source.h"
#include "kafka/topics.h"

namespace doppel {

struct KafkaTopic {
  enum class State { right, missing, wrong };

  std::string key;      // "output.topic"
  std::string purpose;  // "events"
  std::string name;     // or a regular expression
  bool reads = false, writes = false;
  std::optional<kafka::TopicSpec> spec;  // how it would be made; inputs are never made

  State state = State::right;
  std::vector<std::string> fits;  // of a regular expression
  std::string says;               // what is missing or wrong, and what would be right; may have several lines
  std::string warning, remedy;    // what is allowed, and may not be meant
  std::string unreadable;         // of an output: the right Read is missing, which only failures need
  size_t partitions = 0;
  int64_t message_bytes_max = 0;     // its max.message.bytes
  int64_t delete_retention_ms = -1;  // of the index log
};

// Those of kafka.topics, the index log, answers, events, dead letters, unique documents: in this order. Of a
// signer: those of kafka.topics, and the topic of signed records. An error is
// one of asking (cluster.h); what is wrong with a topic is in the list.
absl::StatusOr<std::vector<KafkaTopic>> look_at_topics(const Options& options, kafka::Cluster& cluster);

// Metadata, slices, the scheme and what Kafka adds: in a signed record, beside its set.
inline constexpr int64_t kBesidesSet = 256 << 10;
// The group of all signers that write a topic.
std::string sign_group(const Options& options, const std::string& topic);
// The topic that signers write: how it is made, and what is said of one with more than one partition.
kafka::TopicSpec signed_topic(const Options& options, const std::string& name);
std::string one_partition(const std::string& topic, size_t partitions);

// Where the processes of an index on many machines ask and answer; no record is larger than kAnswerBytes.
std::string answers_topic(const Options& options);
inline constexpr int64_t kAnswerBytes = 8 << 20;

// What doppel reads, and what it writes itself.
kafka::Inputs kafka_inputs(const Options& options);
// How `inputs` are read in the group of the configuration; `stop` ends waiting.
kafka::KafkaSourceOptions kafka_source_options(const Options& options, kafka::Inputs inputs,
                                               std::function<bool()> stop);

}  // namespace doppel

#pragma once
// Topics: what there is, what is missing, and making it.

#include <string>
#include <vector>

#include "kafka/cluster.h"

namespace doppel::kafka {

// Which topics are read. A name is one topic; '^' begins an extended regular expression that must fit from
// the beginning. Expressions never fit internal topics ("__...") nor those in `never`: what doppel writes
// itself.
struct Inputs {
  std::vector<std::string> names;
  std::vector<std::string> never;
};

// False also where an expression is wrong.
bool is_input(const Inputs& inputs, const std::string& topic);

// Those that are there, ascending.
absl::StatusOr<std::vector<TopicPartitions>> find_topics(Cluster& cluster, const Inputs& inputs);

// The command that makes it.
std::string command_to_make(const TopicSpec& spec, const std::string& brokers);

// Makes it, and waits until it is known.
absl::Status make_topic(Cluster& cluster, const TopicSpec& spec);

}  // namespace doppel::kafka

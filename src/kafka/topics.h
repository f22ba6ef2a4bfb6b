#pragma once
// Finds topics and creates them.

#include <regex.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "kafka/cluster.h"

namespace doppel::kafka {

// Selects the topics to read. A name selects one topic. A name that begins with '^' is an extended regular
// expression that must match at the beginning of a topic's name. Expressions never select internal topics
// ("__...") or the topics in `never`, which doppel writes itself.
struct Inputs {
  std::vector<std::string> names;
  std::vector<std::string> never;
};

// Also false if one of the expressions is invalid.
bool is_input(const Inputs& inputs, const std::string& topic);

// Returns the selected topics that exist, in ascending order.
absl::StatusOr<std::vector<TopicPartitions>> find_topics(Cluster& cluster, const Inputs& inputs);

// The shell command that creates the topic.
std::string command_to_make(const TopicSpec& spec, const std::string& brokers);

// Creates the topic and waits up to 15 s until the brokers know it.
absl::Status make_topic(Cluster& cluster, const TopicSpec& spec);

// A regular expression that selects topics by name.
class TopicPattern {
 public:
  // The syntax is POSIX extended. The error quotes the expression and says what is wrong with it.
  static absl::StatusOr<TopicPattern> compile(const std::string& expression);

  // Whether the expression matches at the beginning of the name. It need not match the whole name.
  bool fits(const std::string& topic) const;

 private:
  struct Free {
    void operator()(regex_t* compiled) const {
      ::regfree(compiled);
      delete compiled;
    }
  };
  std::unique_ptr<regex_t, Free> compiled_;
};

}  // namespace doppel::kafka

#pragma once
// The kinds of index whose daemons are killed: settings, topics and documents.

#include <cstdint>
#include <vector>

#include "kafka/index_setup.h"

namespace doppel::testing {

struct Scenario {
  const char* name;
  IndexSetup::Settings settings;
  int topics, partitions;
  size_t documents_per_life;
  double mean_words;
  int64_t step_ms;
  int forget_per_life = 0;  // requests to forget something
};

// A setting that begins with ~ is a name with the index's own prefix.
const std::vector<Scenario>& scenarios();

}  // namespace doppel::testing

#pragma once
// What tests feed the daemon with: documents with planted copies, records without a key, keys that come
// again, null values that ask for removal, and records that cannot be read. A pure function of the seed.

#include <string>
#include <vector>

#include "kafka/client.h"

namespace doppel::testing {

struct WorkloadOptions {
  uint64_t seed = 1;
  size_t documents = 1000;
  std::vector<std::string> topics{"documents"};
  int partitions = 3;
  double mean_words = 60;
  double copies = 0.5;
  double null_values = 0.05;  // shares of all records
  double same_keys = 0.1;
  double poison = 0.02;
  int64_t first_ms = 1'700'000'000'000;
  int64_t step_ms = 60'000;  // record time between two documents
};

// In the order in which they are to be produced; topic and partition are filled.
std::vector<Message> make_workload(const WorkloadOptions& options);

// Produces a part of it; offsets are filled.
void produce(Client& client, std::vector<Message>& messages, size_t begin, size_t end);

}  // namespace doppel::testing

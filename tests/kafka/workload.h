#pragma once
// Input for daemons in tests: documents with planted copies, records without a key, repeated keys, null
// values that ask for removal, and records that cannot be read. A pure function of the seed.

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

// The messages in the order in which to produce them, with topic and partition.
std::vector<Message> make_workload(const WorkloadOptions& options);

// Produces a part of it; sets the offsets.
void produce(Client& client, std::vector<Message>& messages, size_t begin, size_t end);

}  // namespace doppel::testing

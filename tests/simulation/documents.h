#pragma once
// The documents of a run, and the settings of its daemons.

#include <cstdint>
#include <vector>

#include "config/options.h"
#include "kafka/client.h"

namespace doppel::simulation {

// Whether the run of a seed looks for copies of a part.
bool relates(uint64_t seed);

// Few words, so that judging is fast; copies and near-copies of earlier documents, null values, poison.
std::vector<testing::Message> make_documents(uint64_t seed, int partitions);

Options options_of_seed(uint64_t seed);

}  // namespace doppel::simulation

#pragma once
// What a state directory holds of the live index, in a form that two of them can be compared by.

#include <map>
#include <string>

#include "config/options.h"
#include "index/index.h"
#include "text/hash_key.h"

namespace doppel::testing {

struct StateContent {
  std::map<Seq, std::string> rows;
  std::string rest;
};

// Nobody may have the directory open. Throws KafkaError.
StateContent read_state(const Options& options, const HashKey& key);

// Empty: they are the same.
std::string difference(const StateContent& daemon, const StateContent& rebuilt);

}  // namespace doppel::testing

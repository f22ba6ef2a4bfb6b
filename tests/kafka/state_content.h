#pragma once
// The live index in a state directory, in a form that can be compared.

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

// No process may have the directory open. For a matcher (cluster.shards): the originals of its shards. Throws
// KafkaError.
StateContent read_state(const Options& options, const HashKey& key);

// A matcher's directory must have the originals of its shards as the resolver's directory has them. Returns
// "" if it does.
std::string difference_of_matcher(const StateContent& matcher, const std::string& shards,
                                  const StateContent& resolver);

// Returns "" if they are equal.
std::string difference(const StateContent& daemon, const StateContent& rebuilt);

}  // namespace doppel::testing

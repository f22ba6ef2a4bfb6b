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

// Nobody may have the directory open. Of a matcher (cluster.shards): the originals of its shards. Throws
// KafkaError.
StateContent read_state(const Options& options, const HashKey& key);

// A matcher's directory must have the originals of its shards as the resolver's directory has them. Empty: it
// has.
std::string difference_of_matcher(const StateContent& matcher, const std::string& shards,
                                  const StateContent& resolver);

// Empty: they are the same.
std::string difference(const StateContent& daemon, const StateContent& rebuilt);

}  // namespace doppel::testing

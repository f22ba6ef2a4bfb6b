#pragma once
// Checks that a topic of signed records has every document of the input once.

#include <string>
#include <vector>

#include "config/options.h"
#include "kafka/client.h"
#include "text/hash_key.h"

namespace doppel::testing {

// Each offset of the inputs must be in the range of one record, and ranges must follow each other. `options`
// and `key` are the signers'. Returns the faults; `documents` gets the number of records.
std::vector<std::string> check_signed_order(const std::vector<Message>& order, const Options& options,
                                            const HashKey& key, size_t& documents);

}  // namespace doppel::testing

#pragma once
// Encodes originals of an index as signed records. An index that takes them becomes the same as if the
// documents themselves had come.

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "engine/bodies.h"
#include "engine/sign.h"
#include "index/index.h"

namespace doppel {

// FailedPrecondition: an index of this data scheme cannot be handed on, because it has relations. They need
// the order of a text's shingles, which no index keeps.
absl::Status check_handed_on(std::string_view data_scheme);

// `with_sets`: the index verifies by sets. DataLoss: the stored body cannot be read.
absl::Status encode_original(uint64_t fingerprint, int num_perm, bool with_sets, const Row& row,
                             const Body& body, std::string& out);

}  // namespace doppel

#pragma once
// Originals by their number, from the state directory: for announcing their removal, for searches, and as
// signed records.

#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "engine/bodies.h"
#include "engine/engine.h"
#include "engine/originals.h"
#include "engine/sign.h"
#include "index/index.h"
#include "pipeline/removals.h"
#include "state/state_dir.h"

namespace doppel {

// Reads rows of the state directory, and newer rows from the index. Both must outlive the result.
std::unique_ptr<StoredOriginals> stored_originals(StateDir& state, const Engine& engine);
// Reads the originals in memory. A resolver without originals in memory reads them as of the last commit.
// Both arguments must outlive the result.
std::unique_ptr<KeptOriginals> kept_originals(StateDir& state, const Engine& engine);

// Encodes originals of an index as signed records. An index that takes them becomes the same as if the
// documents themselves had come.
// FailedPrecondition: an index of this data scheme cannot be handed on, because it has relations. They need
// the order of a text's shingles, which no index keeps.
absl::Status check_handed_on(std::string_view data_scheme);

// `with_sets`: the index verifies by sets. DataLoss: the stored body cannot be read.
absl::Status encode_original(uint64_t fingerprint, int num_perm, bool with_sets, const Row& row,
                             const Body& body, std::string& out);

}  // namespace doppel

#pragma once
// Originals by their number, from the state directory: for announcing their removal, and for searches.

#include <memory>

#include "engine/engine.h"
#include "engine/originals.h"
#include "pipeline/ends.h"
#include "state/state_dir.h"

namespace doppel {

// Reads rows of the state directory, and newer rows from the index. Both must outlive the result.
std::unique_ptr<StoredOriginals> stored_originals(StateDir& state, const Engine& engine);
// Reads the originals in memory. A resolver without originals in memory reads them as of the last commit.
// Both arguments must outlive the result.
std::unique_ptr<KeptOriginals> kept_originals(StateDir& state, const Engine& engine);

}  // namespace doppel

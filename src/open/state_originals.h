#pragma once
// Originals by their number, from the state directory: for announcing their removal, and for searches.

#include <memory>

#include "engine/engine.h"
#include "pipeline/ends.h"
#include "state/kept_originals.h"
#include "state/state_dir.h"

namespace doppel {

// Reads rows of the state directory, and from the index those newer than its last commit. Both must outlive
// the result.
std::unique_ptr<StoredOriginals> stored_originals(StateDir& state, const Engine& engine);
// The originals in memory, or, for a resolver that has none in memory, those of the last commit. Both must
// outlive the result.
std::unique_ptr<KeptOriginals> kept_originals(StateDir& state, const Engine& engine);

}  // namespace doppel

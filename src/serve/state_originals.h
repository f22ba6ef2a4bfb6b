#pragma once
// Reads originals from the state directory whose removal must still be announced.

#include <memory>

#include "engine/engine.h"
#include "state/state_dir.h"
#include "stream/ends.h"

namespace doppel {

// Rows of the state directory, and those that are newer than its last commit, of the index. Both outlive it.
std::unique_ptr<StoredOriginals> stored_originals(StateDir& state, const Engine& engine);

}  // namespace doppel

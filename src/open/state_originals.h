#pragma once
// Originals by their number, from the state directory: those whose removal must still be announced, and those
// that somebody looks for.

#include <memory>

#include "engine/engine.h"
#include "pipeline/ends.h"
#include "state/kept_originals.h"
#include "state/state_dir.h"

namespace doppel {

// Rows of the state directory, and those that are newer than its last commit, of the index. Both outlive it.
std::unique_ptr<StoredOriginals> stored_originals(StateDir& state, const Engine& engine);
// Those in memory; where a resolver has none in memory, those of the last commit. Both outlive it.
std::unique_ptr<KeptOriginals> kept_originals(StateDir& state, const Engine& engine);

}  // namespace doppel

#pragma once
// Originals whose end is to be told, read again from the state directory.

#include <memory>

#include "engine/engine.h"
#include "state/state_dir.h"
#include "stream/ends.h"

namespace doppel {

// Rows of the state directory, and those that are newer than its last commit, of the index. Both outlive it.
std::unique_ptr<StoredOriginals> stored_originals(StateDir& state, const Engine& engine);

}  // namespace doppel

#pragma once
// doppel sign --from: the originals of an index, in their order, as signed
// records.

#include <functional>
#include <string>

#include "absl/status/statusor.h"
#include "config/options.h"
#include "engine/engine.h"
#include "signing/sign_stream.h"

namespace doppel {

struct SignIndex {
  const Options& options;  // with the settings of the index
  const EngineOptions& engine;
  std::string directory;  // its state directory; nobody need have it closed
  std::string output;
  std::function<bool()> stop = [] { return false; };
};

// The counters say how many originals there were. An index that is damaged is
// an error: it would be handed on in part.
absl::StatusOr<SignCounters> sign_index(const SignIndex& job);

}  // namespace doppel

#pragma once
// doppel sign --from: writes the originals of an index as signed records, in order.

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
  std::string directory;  // its state directory; another process may have it open
  std::string output;
  std::function<bool()> stop = [] { return false; };
};

// The counters give the number of originals. A damaged index is an error, because only a part of it could be
// written.
absl::StatusOr<SignCounters> sign_index(const SignIndex& job);

}  // namespace doppel

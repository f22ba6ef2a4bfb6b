#pragma once
// Where an index keeps its old originals, by the setting `memory`. The same for files and Kafka.

#include <future>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "engine/engine.h"
#include "state/state_dir.h"

namespace doppel {

struct SegmentSettings {
  uint64_t memory = 0;              // bytes of the index from which old originals move to disk; 0: never
  std::string directory;            // of the index
  std::string temporary_directory;  // for an index without a directory
  bool after_others = false;  // whether originals of other indexes have the lowest numbers (state/against.h)
};

using SegmentStores = std::vector<std::unique_ptr<SegmentStore>>;

// Gives the shares of an engine their segments, in this state directory (nullptr: temporary ones). They must
// outlive the engine. Call it when everything else in `engine` is set. Without `memory` none; it then removes
// the segments that an earlier run left, because nobody would remove those that become wrong.
absl::StatusOr<SegmentStores> open_segments(const SegmentSettings& settings, const StateDir* state,
                                            EngineOptions& engine, std::launch merge_on = std::launch::async);

}  // namespace doppel

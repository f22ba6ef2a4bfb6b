#pragma once
// Index and snapshots: copied on the pipeline's thread, where they may be looked at, and shown to whoever
// asks.

#include <mutex>
#include <optional>
#include <string>

#include "index/index.h"
#include "metrics/families.h"
#include "state/state_dir.h"

namespace doppel {

struct IndexLimits {
  uint64_t documents = 0;  // from the oldest live representative to the newest
  uint64_t memory = 0;     // bytes; 0: none
};

class IndexMetrics {
 public:
  IndexMetrics(const IndexLimits& limits, std::string state_directory)
      : limits_(limits), directory_(std::move(state_directory)) {}

  // On the thread that owns them.
  void publish(const IndexStats& index, const CheckpointStats& checkpoints);

  // Any thread. Nothing of the index before the first publish().
  void collect(Families& out) const;
  uint64_t originals() const;

 private:
  struct Copy {
    IndexStats index;
    CheckpointStats checkpoints;
  };
  void collect_files(Families& out) const;

  const IndexLimits limits_;
  const std::string directory_;
  mutable std::mutex mutex_;
  std::optional<Copy> copy_;
};

}  // namespace doppel

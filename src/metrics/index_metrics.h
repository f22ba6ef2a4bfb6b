#pragma once
// Index and snapshots: copied on the pipeline's thread, where they may be looked at, and shown to the thread
// that asks.

#include <mutex>
#include <optional>
#include <string>

#include "engine/originals.h"
#include "metrics/families.h"
#include "state/state_dir.h"

namespace doppel {

struct IndexLimits {
  uint64_t documents = 0;  // from the oldest live original to the newest; 0: matchers have them
  uint64_t memory = 0;     // bytes; 0: none
};

class IndexMetrics {
 public:
  IndexMetrics(const IndexLimits& limits, std::string state_directory)
      : directory_(std::move(state_directory)), limits_(limits) {}

  // How many an index that was made earlier takes.
  void holds(uint64_t documents);
  // On the thread that owns them.
  void publish(const OriginalsStats& index, const CheckpointStats& checkpoints);

  // Any thread. Nothing of the index before the first publish().
  void collect(Families& out) const;
  uint64_t originals() const;

 private:
  struct Copy {
    OriginalsStats index;
    CheckpointStats checkpoints;
  };
  void collect_files(Families& out) const;

  const std::string directory_;
  mutable std::mutex mutex_;  // of what follows
  IndexLimits limits_;
  std::optional<Copy> copy_;
};

}  // namespace doppel

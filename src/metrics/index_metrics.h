#pragma once
// Metrics of the index and its snapshots, of the process and of the disk. The pipeline's thread, which owns
// them, copies the numbers; any thread may show the copy.

#include <mutex>
#include <optional>
#include <string>

#include "engine/originals.h"
#include "metrics/families.h"
#include "state/state_dir.h"

namespace doppel {

struct IndexLimits {
  uint64_t documents = 0;  // from the oldest live original to the newest; 0: none (matchers hold them)
  uint64_t memory = 0;     // bytes; 0: none
};

class IndexMetrics {
 public:
  IndexMetrics(const IndexLimits& limits, std::string state_directory)
      : directory_(std::move(state_directory)), limits_(limits) {}

  // Sets the limit of documents of a restored index.
  void holds(uint64_t documents);
  // Copies the numbers. Call it on the pipeline's thread.
  void publish(const OriginalsStats& index, const CheckpointStats& checkpoints);

  // Any thread may call these. Before the first publish() there are no numbers of the index.
  void collect(Families& out) const;
  uint64_t originals() const;

 private:
  struct Copy {
    OriginalsStats index;
    CheckpointStats checkpoints;
  };
  void collect_files(Families& out) const;

  const std::string directory_;
  mutable std::mutex mutex_;  // guards the members below
  IndexLimits limits_;
  std::optional<Copy> copy_;
};

// What the operating system reports about this process and about the disk of its state directory, at each
// scrape.

// Uses the common names (process_...), so that existing dashboards show them.
void collect_process(Families& out);
// Adds nothing if the directory does not exist yet.
void collect_disk(Families& out, const std::string& directory);

}  // namespace doppel

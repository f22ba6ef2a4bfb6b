#pragma once
// Everything that a running doppel reports to Prometheus. The pipeline's thread counts (observe, publish);
// any thread may show the numbers (text). docs/metrics.md lists every metric.

#include <atomic>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "engine/originals.h"
#include "metrics/families.h"
#include "metrics/stream_metrics.h"
#include "state/restore.h"
#include "state/state_dir.h"

namespace doppel {

// Metrics of the index and its snapshots, of the process and of the disk. The pipeline's thread, which owns
// them, copies the numbers; any thread may show the copy.
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

struct MetricsOptions {
  StreamMetricsOptions stream;
  IndexLimits limits;
  bool decides = true;  // false for a signer, which has neither verdicts nor an index
  std::string state_directory;
  std::string version;
};

class Metrics {
 public:
  explicit Metrics(const MetricsOptions& options);
  ~Metrics();
  Metrics(const Metrics&) = delete;
  Metrics& operator=(const Metrics&) = delete;

  // ---- the pipeline's thread
  void observe(const Decided& decided, const BatchTimes& times);
  StreamMetrics& stream() { return stream_; }
  IndexMetrics& index() { return index_; }
  // Copies the numbers that only this thread may read, at most five times a second.
  void publish(const Originals& index, const StateDir& state);

  // ---- a restore: any thread
  void restoring(const RestoreProgress& progress);
  void restored();  // ends the restore: the daemon is ready

  // ---- any thread
  // Calls `pull` at each scrape, on the scrape's thread, until the result is destroyed.
  using Pull = std::function<void(Families&)>;
  [[nodiscard]] std::shared_ptr<void> pull(Pull pull);
  // All metrics in Prometheus' text format.
  std::string text() const;

 private:
  class Everything;

  const MetricsOptions options_;
  StreamMetrics stream_;
  IndexMetrics index_;
  std::chrono::steady_clock::time_point published_{};
  mutable std::mutex mutex_;  // guards the members below
  std::list<Pull> pulls_;
  std::chrono::steady_clock::time_point restore_start_;
  double restore_s_ = 0;
  RestoreProgress restore_;
  bool ready_ = false;
  std::unique_ptr<Everything> everything_;
};

}  // namespace doppel

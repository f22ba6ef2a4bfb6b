#pragma once
// Everything that a running doppel reports to Prometheus. The pipeline's thread counts (observe, publish);
// any thread may show the numbers (text). docs/metrics.md lists every metric.

#include <atomic>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <string>

#include "metrics/index_metrics.h"
#include "metrics/stream_metrics.h"
#include "state/restore.h"

namespace doppel {

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

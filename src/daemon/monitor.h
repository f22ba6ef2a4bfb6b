#pragma once
// The pages of a running daemon: /metrics, /live, /ready, /version. They answer before the index is restored,
// and do not depend on Kafka.

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "config/options.h"
#include "engine/rule.h"
#include "fetch/fetch_source.h"
#include "fetch/schema_source.h"
#include "http/server.h"
#include "kafka/log/kafka_index.h"
#include "kafka/source.h"
#include "metrics/metrics.h"
#include "pipeline/pipeline.h"

namespace doppel {

class Monitor {
 public:
  struct About {
    const Options& options;
    const Rule& rule;
    bool kafka = false;
    bool decides = true;  // false: a signer, which has no index
    bool replay = false;  // a rebuild
    std::function<bool()> stop = [] { return false; };
  };
  explicit Monitor(const About& about);
  // Adds the routes. The server must end before the monitor: declare it after the monitor.
  void answer(http::Server& server);

  Metrics& metrics() { return metrics_; }

  // Waiting code and the main loop call this instead of About::stop, so that /live can distinguish a loop
  // that hangs from one that waits.
  bool stop() {
    turned_ms_.store(now_ms(), std::memory_order_relaxed);
    return stop_();
  }

  // ---- progress of the start
  void restoring(const RestoreProgress& progress);
  void ready(const Engine& engine);
  void ready();  // for a signer, which has no engine

  // For KafkaIndexOptions::restoring and Pipeline::observe.
  ReportProgress progress_reports() {
    return [this](const RestoreProgress& progress) { restoring(progress); };
  }
  std::function<void(const Decided&, const BatchTimes&)> observer() {
    return [this](const Decided& decided, const BatchTimes& times) { metrics_.observe(decided, times); };
  }
  // Call it from Pipeline::progress.
  void progress(const Engine& engine, const StateDir& state);

  // ---- /metrics includes the argument as long as the result lives
  [[nodiscard]] std::shared_ptr<void> watch(const FetchSource& fetching);
  [[nodiscard]] std::shared_ptr<void> watch(std::shared_ptr<const SchemaStats> schemas);
  // `position` and the source give the positions at which partitions begin.
  [[nodiscard]] std::shared_ptr<void> watch(const kafka::KafkaSource& source,
                                            const std::vector<LogProgress>& position);
  [[nodiscard]] std::shared_ptr<void> watch(const kafka::Transactor& transactor);

 private:
  static int64_t now_ms();  // monotonic
  http::Response live() const;
  http::Response readiness(bool standby_too) const;
  http::Response starting_page() const;

  const int64_t stall_timeout_ms_;
  const uint64_t queue_bytes_;
  const std::function<bool()> stop_;
  Metrics metrics_;
  std::shared_ptr<void> http_;  // metrics of the server, which shows them itself, so it is there
  std::atomic<int64_t> turned_ms_;
  mutable std::mutex mutex_;
  bool ready_ = false;
  RestoreProgress restore_{"starting"};
  const kafka::Transactor::Stats* transactions_ = nullptr;  // used only by the pipeline's thread
  uint64_t commits_ = 0;
};

}  // namespace doppel

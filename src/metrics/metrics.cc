#include "metrics/metrics.h"

#include <prometheus/collectable.h>

#include "base/clock.h"
#include "metrics/index_metrics.h"

namespace doppel {
namespace {

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

}  // namespace

// Collects all metrics through prometheus-cpp's interface.
class Metrics::Everything final : public prometheus::Collectable {
 public:
  explicit Everything(const Metrics& metrics) : m_(metrics) {}

  std::vector<prometheus::MetricFamily> Collect() const override {
    Families out;
    out.gauge("doppel_build_info", "Always 1; the labels describe the build.", 1,
              {{"version", m_.options_.version},
               {"mode", m_.options_.stream.kafka ? "kafka" : "files"},
               {"replay", m_.options_.stream.replay ? "true" : "false"}});
    if (m_.options_.decides) {
      m_.stream_.collect(out);
      m_.index_.collect(out);
    }
    std::lock_guard lock(m_.mutex_);
    out.gauge("doppel_ready", "1 when the index is restored and the stream runs.", m_.ready_ ? 1 : 0);
    out.gauge("doppel_standby", "1 while another daemon serves the index, and this one follows its log.",
              !m_.ready_ && m_.restore_.phase == kStandingBy ? 1 : 0);
    out.gauge("doppel_restore_duration_seconds", "How long restoring the index took, or takes so far.",
              m_.ready_ ? m_.restore_s_ : seconds_since(m_.restore_start_));
    const double total = static_cast<double>(m_.restore_.total);
    out.gauge("doppel_restore_progress_ratio", "How much of the current step of restoring is done.",
              m_.ready_   ? 1
              : total > 0 ? std::min(1.0, static_cast<double>(m_.restore_.done) / total)
                          : 0);
    for (const Pull& pull : m_.pulls_) pull(out);
    collect_process(out);
    return out.take();
  }

 private:
  const Metrics& m_;
};

Metrics::Metrics(const MetricsOptions& options)
    : options_(options),
      stream_(options.stream),
      index_(options.limits, options.state_directory),
      restore_start_(Clock::now()),
      everything_(std::make_unique<Everything>(*this)) {}

Metrics::~Metrics() = default;

void Metrics::observe(const Decided& decided, const BatchTimes& times) {
  stream_.observe(decided, times, Clock::unix_ms());
}

void Metrics::publish(const Originals& index, const StateDir& state) {
  constexpr std::chrono::milliseconds kEvery(200);
  const Clock::time_point now = Clock::now();
  if (now - published_ < kEvery) return;
  published_ = now;
  index_.publish(index.stats(), state.checkpoint_stats());
}

void Metrics::restoring(const RestoreProgress& progress) {
  std::lock_guard lock(mutex_);
  restore_ = progress;
}

void Metrics::restored() {
  std::lock_guard lock(mutex_);
  if (!ready_) restore_s_ = seconds_since(restore_start_);
  ready_ = true;
}

std::shared_ptr<void> Metrics::pull(Pull pull) {
  std::lock_guard lock(mutex_);
  pulls_.push_front(std::move(pull));
  return {nullptr, [this, at = pulls_.begin()](void*) {
            std::lock_guard gone(mutex_);
            pulls_.erase(at);
          }};
}

std::string Metrics::text() const { return to_text(everything_->Collect()); }

}  // namespace doppel

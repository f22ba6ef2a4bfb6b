#include "roles/roles.h"

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/log.h"
#include "base/notify.h"
#include "base/status.h"
#include "daemon/daemon.h"
#include "kafka/topics/plan.h"
#include "metrics/kafka_metrics.h"
#include "signing/sign_kafka.h"

namespace doppel {
namespace {

constexpr uint64_t kMessagesShown = 100;  // later messages about records are not logged

// The signer's status for /metrics. The thread that signs writes it; any thread may read it.
class SignerWatch {
 public:
  explicit SignerWatch(Monitor& monitor)
      : monitor_(monitor), pull_(monitor.metrics().pull([this](Families& out) { collect(out); })) {}

  void reads(const SignInput& input, const std::vector<LogProgress>& progress) {
    reading_.clear();
    if (input.source != nullptr) reading_.push_back(monitor_.watch(*input.source, progress));
    if (input.schemas != nullptr) reading_.push_back(monitor_.watch(input.schemas));
    if (ready_) return;
    ready_ = true;
    monitor_.ready();
    log::info("ready", {{"role", "signer"}});
    notify::ready();
  }

  void wrote(const SignCounters& counters, const std::vector<LogProgress>& progress) {
    for (const LogProgress& p : progress)
      monitor_.metrics().stream().begins_at(
          {.topic = p.topic, .partition = p.partition, .next = p.next, .last_ms = p.last_ms});
    const std::lock_guard lock(mutex_);
    if (counters.records != status_.records) status_.last_commit_ms = Clock::unix_ms();
    status_.records = counters.records;
    status_.rejected = counters.rejected;
    status_.bytes = counters.bytes;
    status_.signed_bytes = counters.signed_bytes;
  }

 private:
  void collect(Families& out) const {
    const std::lock_guard lock(mutex_);
    collect_signer(out, status_);
  }

  Monitor& monitor_;
  bool ready_ = false;
  mutable std::mutex mutex_;  // guards status_
  SignerStatus status_;
  std::vector<std::shared_ptr<void>> reading_;
  const std::shared_ptr<void> pull_;
};

}  // namespace

absl::Status serve_signer(const Config& config, kafka::Cluster& cluster,
                          const std::function<bool()>& how_stop) {
  const Options& o = config.options;
  ASSIGN_OR_RETURN(const std::unique_ptr<DaemonParts> daemon,
                   DaemonParts::begin(config, o, {.kafka = true, .decides = false, .stop = how_stop}));
  const std::function<bool()> stop = daemon->stopper();
  log::info("starting", {{"role", "signer"}, {"writes", o.cluster.order}});
  ASSIGN_OR_RETURN(const KafkaPlan plan,
                   plan_kafka(o, cluster, real_cluster(o, {.stop = stop, .await_topics = true})));

  SignerWatch watch(daemon->monitor);
  uint64_t messages = 0;
  const auto report = [&](const std::string& message) {
    if (++messages <= kMessagesShown) log::warn(message);
    if (messages == kMessagesShown) log::warn("further records with mistakes are only counted");
  };
  return sign_topics({.options = o,
                      .cluster = cluster,
                      .topic = o.cluster.order,
                      .engine = daemon->engine,
                      .stop = stop,
                      .report = report,
                      .reading = [&](const SignInput& input,
                                     const std::vector<LogProgress>& from) { watch.reads(input, from); },
                      .progress = [&](const SignCounters& counters,
                                      const std::vector<LogProgress>& to) { watch.wrote(counters, to); }})
      .status();
}

}  // namespace doppel

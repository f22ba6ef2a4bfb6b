#include "serve/monitor.h"

#include <fmt/format.h>

#include "metrics/fetch_metrics.h"
#include "metrics/kafka_metrics.h"
#include "stream/kafka/kafka_position.h"

namespace doppel {
namespace {

MetricsOptions metrics_options(const Monitor::About& about) {
  const Options& o = about.options;
  return {.stream = {.rule = about.rule, .replay = about.replay, .kafka = about.kafka},
          .limits = {.documents = about.rule.max_documents != 0 ? about.rule.max_documents : kDocumentsMax,
                     .memory = o.max_memory},
          .state_directory = o.state_directory,
          .version = DOPPEL_VERSION};
}

}  // namespace

int64_t Monitor::now_ms() {
  using std::chrono::duration_cast, std::chrono::milliseconds, std::chrono::steady_clock;
  return duration_cast<milliseconds>(steady_clock::now().time_since_epoch()).count();
}

Monitor::Monitor(const About& about)
    : stall_timeout_ms_(about.options.stall_timeout_ms),
      queue_bytes_(about.options.kafka.fetch_queue),
      stop_(about.stop),
      metrics_(metrics_options(about)),
      turned_ms_(now_ms()) {}

void Monitor::answer(http::Server& server) {
  server.route("GET", "/metrics", [this](const http::Request&) {
    return http::Response{.body = metrics_.text(),
                          .content_type = "text/plain; version=0.0.4; charset=utf-8"};
  });
  server.route("GET", "/live", [this](const http::Request&) { return live(); });
  server.route("GET", "/ready", [this](const http::Request&) { return readiness(); });
  server.route("GET", "/version", [](const http::Request&) {
    return http::Response{.body = "{\"name\":\"doppel\",\"version\":\"" DOPPEL_VERSION "\"}\n"};
  });
}

http::Response Monitor::live() const {
  const int64_t ms = now_ms() - turned_ms_.load(std::memory_order_relaxed);
  const bool stalled = ms > stall_timeout_ms_;
  return {.status = stalled ? 503 : 200,
          .body = fmt::format("{{\"status\":\"{}\",\"last_turn_ms_ago\":{},\"stall_timeout_ms\":{}}}\n",
                              stalled ? "stalled" : "live", ms, stall_timeout_ms_)};
}

http::Response Monitor::readiness() const {
  std::lock_guard lock(mutex_);
  if (ready_) return {.body = "{\"status\":\"ready\"}\n"};
  return {.status = 503,
          .body = fmt::format("{{\"status\":\"restoring\",\"step\":\"{}\",\"done\":{},\"of\":{}}}\n",
                              restore_.phase, restore_.done, restore_.total)};
}

void Monitor::restoring(const RestoreProgress& progress) {
  turned_ms_.store(now_ms(), std::memory_order_relaxed);
  metrics_.restoring(progress);
  std::lock_guard lock(mutex_);
  restore_ = progress;
}

void Monitor::ready(const Engine& engine) {
  metrics_.stream().begins_at(engine.index().lowest_live());
  metrics_.restored();
  std::lock_guard lock(mutex_);
  ready_ = true;
}

void Monitor::progress(const Engine& engine, const StateDir& state) {
  if (transactions_ != nullptr) {
    const uint64_t commits = transactions_->commits.load(std::memory_order_relaxed);
    if (commits != commits_) metrics_.stream().committed(transactions_->last_commit_s);
    commits_ = commits;
  }
  metrics_.publish(engine.index(), state);
}

std::shared_ptr<void> Monitor::watch(const FetchSource& fetching) {
  return metrics_.pull([&fetching](Families& out) { collect_fetches(out, fetching.counts()); });
}

std::shared_ptr<void> Monitor::watch(const kafka::KafkaSource& source,
                                     const std::vector<LogProgress>& position) {
  for (const std::vector<LogProgress>* list : {&position, &source.beginnings()}) {
    for (const LogProgress& p : *list)
      metrics_.stream().begins_at(
          {.topic = p.topic, .partition = p.partition, .next = p.next, .last_ms = p.last_ms});
  }
  return metrics_.pull([this, statistics = source.statistics()](Families& out) {
    collect_consumer(out, statistics->get(), metrics_.stream().settled(), queue_bytes_, kafka::now_ms());
  });
}

std::shared_ptr<void> Monitor::watch(const kafka::Transactor& transactor) {
  const kafka::Transactor::Stats* stats = transactions_ = &transactor.stats();
  commits_ = stats->commits;
  return metrics_.pull([stats](Families& out) {
    collect_transactions(out, {.commits = stats->commits,
                               .aborts = stats->resent,
                               .fenced = stats->fenced,
                               .recoveries = stats->recoveries});
  });
}

}  // namespace doppel

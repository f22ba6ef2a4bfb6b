#include "daemon/monitor.h"

#include <fmt/format.h>

#include "base/clock.h"
#include "doppel/version.h"
#include "engine/settings.h"
#include "metrics/kafka_metrics.h"
#include "state/index_log.h"

namespace doppel {
namespace {

// A resolver has no limit of its own: matchers hold the originals.
uint64_t most_documents(const Rule& rule, bool elsewhere) {
  if (rule.max_documents != 0) return rule.max_documents;
  return elsewhere ? 0 : static_cast<uint64_t>(limits::kMaxDocuments.most);
}

MetricsOptions metrics_options(const Monitor::About& about) {
  const Options& o = about.options;
  return {.stream = {.rule = about.rule, .replay = about.replay, .kafka = about.kafka},
          .limits = {.documents = most_documents(about.rule, o.cluster.decides()), .memory = o.max_memory},
          .decides = about.decides,
          .state_directory = o.state_directory,
          .version = DOPPEL_VERSION_STRING};
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
  http_ = metrics_.pull([&server](Families& out) { collect_http(out, server.counts()); });
  server.route(
      "GET", "/metrics",
      [this](const http::Request&) {
        return http::Response{.body = metrics_.text(),
                              .content_type = "text/plain; version=0.0.4; charset=utf-8"};
      },
      http::Access::probe);
  server.route("GET", "/live", [this](const http::Request&) { return live(); }, http::Access::probe);
  server.route(
      "GET", "/ready",
      [this](const http::Request& r) { return readiness(r.query_value("standby").has_value()); },
      http::Access::probe);
  // Web replaces this page once the stream runs.
  server.route("GET", "/", [this](const http::Request&) { return starting_page(); });
  server.route("GET", "/version", [](const http::Request&) {
    return http::Response{.body = "{\"name\":\"doppel\",\"version\":\"" DOPPEL_VERSION_STRING "\"}\n"};
  });
}

http::Response Monitor::live() const {
  const int64_t ms = now_ms() - turned_ms_.load(std::memory_order_relaxed);
  const bool stalled = ms > stall_timeout_ms_;
  return {.status = stalled ? 503 : 200,
          .body = fmt::format("{{\"status\":\"{}\",\"last_turn_ms_ago\":{},\"stall_timeout_ms\":{}}}\n",
                              stalled ? "stalled" : "live", ms, stall_timeout_ms_)};
}

// With `standby_too` a standby counts as ready. Otherwise a rollout that waits for the new daemon would wait
// until the old one ends.
http::Response Monitor::readiness(bool standby_too) const {
  std::lock_guard lock(mutex_);
  if (ready_) return {.body = "{\"status\":\"ready\"}\n"};
  if (restore_.phase == kStandingBy)
    return {.status = standby_too ? 200 : 503, .body = "{\"status\":\"standby\"}\n"};
  return {.status = 503,
          .body = fmt::format("{{\"status\":\"restoring\",\"step\":\"{}\",\"done\":{},\"of\":{}}}\n",
                              restore_.phase, restore_.done, restore_.total)};
}

http::Response Monitor::starting_page() const {
  std::lock_guard lock(mutex_);
  std::string what = restore_.phase;
  if (ready_) {
    what = "running; /metrics has its figures";  // a rebuild has no other page
  } else if (restore_.phase == kStandingBy) {
    what = "standing by: another daemon serves this index; this one follows its log";
  } else if (restore_.total > 0) {
    what += fmt::format(": {:.0f} %",
                        100 * static_cast<double>(restore_.done) / static_cast<double>(restore_.total));
  }
  return http::page(ready_ ? 200 : 503,
                    fmt::format("<!doctype html><html lang=\"en\"><meta charset=\"utf-8\">"
                                "<meta http-equiv=\"refresh\" content=\"2\"><title>doppel: {0}</title>"
                                "<h1>doppel</h1><p>{0}</p></html>\n",
                                what));
}

void Monitor::restoring(const RestoreProgress& progress) {
  turned_ms_.store(now_ms(), std::memory_order_relaxed);
  metrics_.restoring(progress);
  std::lock_guard lock(mutex_);
  restore_ = progress;
}

void Monitor::ready(const Engine& engine) {
  metrics_.stream().begins_at(engine.originals().lowest_live());
  metrics_.stream().holds(engine.options().rule.max_documents);
  metrics_.index().holds(most_documents(engine.options().rule, engine.options().elsewhere));
  ready();
}

void Monitor::ready() {
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
  metrics_.publish(engine.originals(), state);
}

std::shared_ptr<void> Monitor::watch(const FetchSource& fetching) {
  return metrics_.pull([&fetching](Families& out) { collect_fetches(out, fetching.counts()); });
}

std::shared_ptr<void> Monitor::watch(std::shared_ptr<const SchemaStats> schemas) {
  return metrics_.pull([schemas = std::move(schemas)](Families& out) { collect_schemas(out, *schemas); });
}

std::shared_ptr<void> Monitor::watch(const kafka::KafkaSource& source,
                                     const std::vector<LogProgress>& position) {
  for (const std::vector<LogProgress>* list : {&position, &source.beginnings()}) {
    for (const LogProgress& p : *list)
      metrics_.stream().begins_at(
          {.topic = p.topic, .partition = p.partition, .next = p.next, .last_ms = p.last_ms});
  }
  return metrics_.pull([this, statistics = source.statistics()](Families& out) {
    collect_consumer(out, statistics->get(), metrics_.stream().settled(), queue_bytes_, Clock::unix_ms());
  });
}

std::shared_ptr<void> Monitor::watch(const kafka::Transactor& transactor) {
  const kafka::Transactor::Stats* stats = transactions_ = &transactor.stats();
  commits_ = stats->commits;
  return metrics_.pull([stats, &transactor](Families& out) {
    collect_transactions(out, {.commits = stats->commits,
                               .aborts = stats->resent,
                               .fenced = stats->fenced,
                               .recoveries = stats->recoveries,
                               .throttled_s = std::chrono::duration<double>(transactor.throttled()).count()});
  });
}

}  // namespace doppel

#include "daemon/web.h"

#include <chrono>

#include "absl/strings/str_join.h"
#include "base/clock.h"
#include "doppel/version.h"

namespace doppel {
namespace {

// How often the status page reloads: often enough to follow the stream, rarely enough to read a text.
constexpr int kRefreshS = 30;

}  // namespace

Web::Web(http::Server* server, WebParts parts)
    : server_(server),
      parts_(std::move(parts)),
      mailbox_([this] { waker_.ring(); }),
      activity_(Clock::unix_ms()),
      api_({.engine = parts_.engine,
            .originals = parts_.originals,
            .bodies = parts_.bodies,
            .activity = activity_,
            .captures = captures_,
            .mailbox = mailbox_,
            .format = parts_.config.options.input,
            .keys = parts_.keys,
            .checkpoint = parts_.checkpoint,
            .forgetting = parts_.forgetting,
            .forgets_not = parts_.forgets_not}) {
  if (server_ == nullptr) return;
  api_.route(*server_);
  const Options& o = parts_.config.options;
  if (!o.kafka.brokers.empty() && (!o.kafka.produce_from_http || o.cluster.is_part())) {
    for (const auto& [method, path] : {std::pair("POST", "/v1/documents"), {"PUT", "/v1/documents/{id}"}})
      server_->route(method, path, api_.guarded([this](const http::Request&) { return no_insert(); }));
  }
  server_->route("GET", "/", api_.guarded([this](const http::Request& r) { return page(r); }));
  server_->route("GET", "/clusters/{id}",
                 api_.guarded([this](const http::Request& r) { return cluster(r); }));
}

Web::~Web() {
  mailbox_.close();  // ends handlers that wait, so that
  api_.close();      // this can wait for all of them
}

http::Response Web::no_insert() const {
  const Options& o = parts_.config.options;
  const std::string send = "send them to the topic " + absl::StrJoin(o.kafka.topics, " or ");
  if (o.cluster.is_part())
    return http::error(501, "documents do not come by HTTP where the index is on many machines; " + send);
  return http::error(501,
                     "documents do not come by HTTP where Kafka is the input, unless "
                     "kafka.produce_from_http is true; " +
                         send);
}

http::Response Web::cluster(const http::Request& request) const {
  const std::string id(*request.param("id"));
  const std::optional<Cluster> found = activity_.cluster(id);
  return found ? http::page(200, cluster_page(id, *found, Clock::unix_ms()))
               : http::page(404, no_cluster_page(id));
}

http::Response Web::page(const http::Request& request) {
  const bool hold = !request.query.empty() && request.query.front().first == "hold";
  PageData data{.version = DOPPEL_VERSION_STRING,
                .mode = parts_.lags || parts_.cluster ? "Kafka" : "files",
                .now_ms = Clock::unix_ms(),
                .start_ms = activity_.start_ms(),
                .refresh_s = hold ? 0 : kRefreshS,
                .samples = activity_.samples(),
                .originals_most = parts_.engine.options().rule.max_documents,
                .events = activity_.events(),
                .dead_letters = activity_.dead_letters(),
                .originals = activity_.originals(10),
                .host_pairs = activity_.host_pairs(10)};
  IndexFacts facts;
  const auto look = [&] {
    facts.stats = parts_.engine.originals().stats();
    if (parts_.snapshots) facts.snapshots = parts_.snapshots();
  };
  if (mailbox_.ask(look, std::chrono::seconds(1))) {
    facts.body_bytes = parts_.bodies.bytes();
    data.index = std::move(facts);
  }
  if (parts_.lags) data.lags = parts_.lags();
  if (parts_.cluster) data.cluster = parts_.cluster();
  data.http = server_->counts();
  for (const Setting& setting : parts_.config.settings)
    data.settings.push_back({.key = setting.key, .value = setting.value, .origin = setting.origin});
  return http::page(200, status_page(data));
}

void Web::observe(const Decided& decided) {
  if (server_ == nullptr) return;
  activity_.observe(decided, Clock::unix_ms());
  captures_.observe(decided);
}

void Web::progress(const Counters& counters) {
  if (server_ == nullptr) return;
  activity_.sample(counters, Clock::unix_ms());
  mailbox_.answer();
}

}  // namespace doppel

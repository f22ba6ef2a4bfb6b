#include "daemon/daemon.h"

#include <string>
#include <utility>

#include "base/log.h"
#include "base/status.h"
#include "daemon/report.h"
#include "fetch/fetch_source.h"
#include "http/router.h"
#include "open/setup.h"

namespace doppel {
namespace {

// Starts the server of http.listen; null if http.listen is empty.
absl::StatusOr<std::unique_ptr<http::Server>> open_http(
    const Options& o, const std::function<void(http::Server&)>& add_routes) {
  if (o.http.listen.empty()) return nullptr;
  http::ServerOptions options{.listen = o.http.listen,
                              .hosts = o.http.hosts,
                              .max_body = o.input.max_bytes,
                              .tls = {o.http.tls_certificate, o.http.tls_key, o.http.tls_client_ca}};
  ASSIGN_OR_RETURN(options.token,
                   http::load_token("http.token_file", o.http.token_file, "DOPPEL_HTTP_TOKEN"));
  ASSIGN_OR_RETURN(std::unique_ptr<http::Server> server, http::Server::start(std::move(options), add_routes));
  log::info("listening", {{"url", server->url()}});
  return server;
}

}  // namespace

DaemonParts::DaemonParts(const Config& c, const Options& o, const HashKey& k, EngineOptions e,
                         DaemonStart how)
    : config(c),
      options(o),
      kafka(how.kafka),
      key(k),
      engine(std::move(e)),
      monitor({.options = options,
               .rule = engine.rule,
               .kafka = how.kafka,
               .decides = how.decides,
               .replay = how.replay,
               .stop = std::move(how.stop)}) {}

absl::StatusOr<std::unique_ptr<DaemonParts>> DaemonParts::begin(const Config& config, const Options& options,
                                                                DaemonStart how) {
  const bool beside_a_daemon = how.replay;
  const std::function<void(http::Server&)> routes = std::move(how.routes);
  std::string note;
  // A dry run has its own state directory, but uses the key of the daemon's.
  ASSIGN_OR_RETURN(const HashKey key, options.dry_run ? hash_key_to_look_with(config.options)
                                                      : choose_hash_key(config.options, note));
  if (!note.empty()) log::warn(note);
  ASSIGN_OR_RETURN(EngineOptions engine, engine_options(options, key));
  std::unique_ptr<DaemonParts> out(new DaemonParts(config, options, key, std::move(engine), std::move(how)));
  absl::StatusOr<std::unique_ptr<http::Server>> server = open_http(options, [&](http::Server& opened) {
    out->monitor.answer(opened);
    if (routes) routes(opened);
  });
  if (!server.ok() && !beside_a_daemon) return server.status();
  if (!server.ok()) {
    log::warn("the rebuild serves no metrics", {{"because", std_sv(server.status().message())}});
  } else {
    out->server = *std::move(server);
  }
  if (out->kafka) out->monitor.restoring({"waiting for Kafka"});
  return out;
}

absl::Status decide(DaemonParts& daemon, const Deciding& d) {
  OverlappingTopics overlapping;
  Pipeline pipeline = assemble(daemon.options, d.engine, &d.state, outer_of(d.source, d.fetching), d.sink);
  pipeline.journal = d.journal;
  pipeline.answer_source = d.answer_source;
  pipeline.keys = d.keys;
  pipeline.same_documents = d.same_documents;
  pipeline.stop = [stop = daemon.stopper(), &d] { return stop() || d.interrupted(); };
  pipeline.waker = &d.web.waker();
  pipeline.recall = d.recall;
  pipeline.requests = d.requests;
  pipeline.read_now = late_reader(d.fetching);
  pipeline.observe = [&](const Decided& decided, const BatchTimes& times) {
    daemon.monitor.metrics().observe(decided, times);
    d.web.observe(decided);
    d.observe(decided);
    if (!daemon.kafka) return;
    if (const std::string warning = overlapping.observe(decided); !warning.empty()) log::warn(warning);
  };
  pipeline.progress = [&](const Counters& counters) {
    daemon.monitor.progress(d.engine, d.state);
    d.settled();
    d.web.progress(counters);
    d.report.progress(counters);
  };
  const absl::StatusOr<Counters> counters = run_pipeline(pipeline);
  if (absl::IsDataLoss(counters.status()))
    mark_damaged(daemon.options.state_directory, std::string(counters.status().message()));
  RETURN_IF_ERROR(counters.status());
  d.report.end(*counters);
  if (d.fetching != nullptr) report_fetches(d.fetching->counts());
  return absl::OkStatus();
}

}  // namespace doppel

#include "serve/web.h"

#include <chrono>

namespace doppel {
namespace {

int64_t now_ms() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

}  // namespace

Web::Web(http::Server* server, WebParts parts)
    : server_(server),
      parts_(std::move(parts)),
      activity_(now_ms()),
      api_({.engine = parts_.engine,
            .bodies = parts_.bodies,
            .activity = activity_,
            .mailbox = mailbox_,
            .format = parts_.config.options.input,
            .keys = parts_.keys,
            .checkpoint = parts_.checkpoint,
            .writes = !parts_.config.options.dry_run}) {
  if (server_ == nullptr) return;
  api_.route(*server_);
  server_->route("GET", "/", api_.guarded([this](const http::Request&) { return page(); }));
}

Web::~Web() {
  mailbox_.close();  // who waits is sent away, so that
  api_.close();      // nobody is left
}

http::Response Web::page() {
  PageData data{.version = DOPPEL_VERSION,
                .mode = parts_.lags ? "Kafka" : "files",
                .now_ms = now_ms(),
                .start_ms = activity_.start_ms(),
                .samples = activity_.samples(),
                .originals_most = parts_.engine.options().rule.max_documents,
                .events = activity_.events(),
                .originals = activity_.originals(10),
                .host_pairs = activity_.host_pairs(10)};
  IndexFacts facts;
  const auto look = [&] {
    facts.stats = parts_.engine.index().stats();
    if (parts_.snapshots) facts.snapshots = parts_.snapshots();
  };
  if (mailbox_.ask(look, std::chrono::seconds(1))) {
    facts.body_bytes = parts_.bodies.bytes();
    data.index = std::move(facts);
  }
  if (parts_.lags) data.lags = parts_.lags();
  for (const Setting& setting : parts_.config.settings)
    data.settings.push_back({.key = setting.key, .value = setting.value, .origin = setting.origin});
  http::Response out{.body = status_page(data), .content_type = "text/html; charset=utf-8"};
  out.headers = {{"Content-Security-Policy",
                  "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; "
                  "form-action 'none'; frame-ancestors 'none'"},
                 {"Referrer-Policy", "no-referrer"}};
  return out;
}

bool Web::wishes(Work& work) { return server_ != nullptr && api_.fill(work); }

void Web::observe(const Decided& decided) {
  if (server_ != nullptr) activity_.observe(decided, now_ms());
}

void Web::progress(const Counters& counters) {
  if (server_ == nullptr) return;
  api_.settled();
  activity_.sample(counters, now_ms());
  mailbox_.answer();
}

}  // namespace doppel

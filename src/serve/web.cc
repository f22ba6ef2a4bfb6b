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
      activity_(now_ms()),
      api_({.engine = parts.engine,
            .bodies = parts.bodies,
            .activity = activity_,
            .mailbox = mailbox_,
            .format = parts.config.options.input,
            .keys = parts.keys,
            .checkpoint = parts.checkpoint,
            .writes = !parts.config.options.dry_run}) {
  if (server_ != nullptr) api_.route(*server_);
}

Web::~Web() {
  mailbox_.close();  // who waits is sent away, so that
  api_.close();      // nobody is left
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

#pragma once
// The main loop of a daemon with an index. It builds a pipeline from the daemon's parts and passes each batch
// to metrics, pages and the report.

#include <functional>

#include "absl/status/statusor.h"
#include "daemon/daemon_parts.h"
#include "daemon/report.h"
#include "daemon/web.h"
#include "pipeline/pipeline.h"

namespace doppel {

struct Deciding {  // all references outlive the call
  Source& source;
  FetchSource* fetching = nullptr;  // wraps `source` if documents are fetched
  Engine& engine;
  StateDir& state;
  Sink& sink;
  Journal* journal = nullptr;
  Answering* answering = nullptr;
  KeyPolicy keys = {};
  KnownAgain* known_again = nullptr;
  Web& web;
  Report& report;
  // Ends decide() after the next batch, while the session continues.
  std::function<bool()> interrupted = [] { return false; };
  // See Pipeline::requests. decide() calls `settled` after each batch whose events are final.
  std::function<bool(Work&)> requests = [](Work&) { return false; };
  std::function<void()> settled = [] {};
  std::function<absl::Status(const Batch&, Work&)> recall = {};  // see Pipeline
  // See Pipeline::observe.
  std::function<void(const Decided&)> observe = [](const Decided&) {};
};

// Returns when the session ends, or with the error that must stop the process. After DataLoss it marks the
// state directory as damaged.
absl::Status decide(DaemonParts& daemon, const Deciding& parts);

}  // namespace doppel

#pragma once
// The main loop of a daemon with an index: its parts make a pipeline, and whoever shows or reports something
// learns of each batch.

#include <functional>

#include "absl/status/statusor.h"
#include "daemon/report.h"
#include "daemon/session.h"
#include "daemon/web.h"
#include "pipeline/pipeline.h"

namespace doppel {

struct Deciding {  // all of it outlives the call
  Source& source;
  FetchSource* fetching = nullptr;  // of `source`, if documents are fetched
  Engine& engine;
  StateDir& state;
  Sink& sink;
  Journal* journal = nullptr;
  Answering* answering = nullptr;
  KeyPolicy keys = {};
  Web& web;
  Report& report;
  // Ends it after the next batch, though the session goes on.
  std::function<bool()> interrupted = [] { return false; };
  // As Pipeline::requests; `settled` follows each batch whose events nothing can take back.
  std::function<bool(Work&)> requests = [](Work&) { return false; };
  std::function<void()> settled = [] {};
};

// Until the session ends or something must stop the process. Damage is noted in the state directory.
absl::Status decide(Session& session, const Deciding& parts);

}  // namespace doppel

#pragma once
// The parts that every daemon has from its start on: the hash key, the engine's options, and the pages that
// answer while it starts. And the main loop of those that have an index.

#include <functional>
#include <memory>

#include "absl/status/statusor.h"
#include "config/config.h"
#include "daemon/monitor.h"
#include "daemon/report.h"
#include "daemon/web.h"
#include "engine/engine.h"
#include "pipeline/pipeline.h"
#include "text/hash_key.h"

namespace doppel {

struct DaemonStart {
  bool kafka = false;
  bool decides = true;  // false: a signer, which has no index
  bool replay = false;  // a rebuild: if a daemon already uses the port, it serves no pages
  std::function<bool()> stop = [] { return false; };
  std::function<void(http::Server&)> routes = nullptr;  // those that answer from the start on
};

class DaemonParts {
 public:
  // `config` and `options` outlive the daemon. `options` come from `config`, or are a dry run's version of
  // them.
  static absl::StatusOr<std::unique_ptr<DaemonParts>> begin(const Config& config, const Options& options,
                                                            DaemonStart how);
  DaemonParts(const DaemonParts&) = delete;
  DaemonParts& operator=(const DaemonParts&) = delete;

  const Config& config;
  const Options& options;
  const bool kafka;
  const HashKey key;
  EngineOptions engine;
  Monitor monitor;
  std::unique_ptr<http::Server> server;  // null: no pages are served

  // Whether to end. Everything that waits must call it regularly.
  bool stop() { return monitor.stop(); }
  std::function<bool()> stopper() {
    return [this] { return stop(); };
  }

 private:
  DaemonParts(const Config& c, const Options& o, const HashKey& k, EngineOptions e, DaemonStart how);
};

// The main loop of a daemon with an index. It builds a pipeline from the daemon's parts and passes each batch
// to metrics, pages and the report.
struct Deciding {  // all references outlive the call
  Source& source;
  FetchSource* fetching = nullptr;  // wraps `source` if documents are fetched
  Engine& engine;
  StateDir& state;
  Sink& sink;
  Journal* journal = nullptr;
  AnswerSource* answer_source = nullptr;
  KeyPolicy keys = {};
  SameDocuments* same_documents = nullptr;
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

#pragma once
// The parts that every daemon has from its start on: the hash key, the engine's options, and the pages that
// answer while it starts.

#include <functional>
#include <memory>

#include "absl/status/statusor.h"
#include "config/config.h"
#include "daemon/monitor.h"
#include "engine/engine.h"
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

}  // namespace doppel

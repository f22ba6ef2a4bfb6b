#pragma once
// What every daemon has from its first moment: the key of its hashes, what it decides by, and the pages that
// answer while it starts.

#include <functional>
#include <memory>

#include "absl/status/statusor.h"
#include "config/config.h"
#include "daemon/monitor.h"
#include "engine/engine.h"
#include "text/hash_key.h"

namespace doppel {

struct SessionOptions {
  bool kafka = false;
  bool decides = true;  // false: a signer, which has no index
  bool replay = false;  // a rebuild: a daemon may have its port, then it serves no pages
  std::function<bool()> stop = [] { return false; };
};

class Session {
 public:
  // Both outlive the session. `options` are those of `config`, or what a dry run makes of them.
  static absl::StatusOr<std::unique_ptr<Session>> begin(const Config& config, const Options& options,
                                                        SessionOptions how);
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  const Config& config;
  const Options& options;
  const bool kafka;
  const HashKey key;
  EngineOptions engine;
  Monitor monitor;
  std::unique_ptr<http::Server> server;  // null: http.listen is empty

  // Whether to end; to be asked by everything that waits.
  bool stop() { return monitor.stop(); }
  std::function<bool()> stopper() {
    return [this] { return stop(); };
  }

 private:
  Session(const Config& c, const Options& o, const HashKey& k, EngineOptions e, SessionOptions how);
};

}  // namespace doppel

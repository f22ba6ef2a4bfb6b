#pragma once
// The API under /v1 (docs/openapi.yaml). Its handlers run on the server's threads and look at the index
// through the mailbox; what is to be forgotten goes with the next batches through the log, as everything that
// changes it.

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <shared_mutex>
#include <string>
#include <vector>

#include "engine/engine.h"
#include "http/server.h"
#include "pipeline/sign_record.h"
#include "status/activity.h"
#include "status/forgetting.h"
#include "status/mailbox.h"
#include "status/turn.h"

namespace doppel {

struct ApiParts {  // all outlive the API
  const Engine& engine;
  const KeptOriginals& originals;
  const Bodies& bodies;
  const Activity& activity;
  Mailbox& mailbox;
  FormatOptions format;
  KeyPolicy keys;
  std::function<absl::Status()> checkpoint;  // on the pipeline's thread
  Forgetting* forgetting = nullptr;          // null: nothing may be forgotten
  std::string forgets_not;                   // and why
  // How long a look-up of an id may take, for anyone where there is no token and for who has the token; and
  // how long who forgets waits until all of it is done.
  std::chrono::milliseconds open_search{5'000}, token_search{60'000}, forget{60'000};
};

class Api {
 public:
  explicit Api(ApiParts parts);
  // From here until close().
  void route(http::Server& server);
  // As its own handlers are: after close() it is not called any more, and none is running.
  http::Handler guarded(http::Handler handler) const;

  // After the mailbox is closed: what is under way ends, and nothing of this is used any more.
  void close();

 private:
  struct Original {
    Seq seq = 0;
    std::string metadata;  // encoded; of the first ones only
  };
  // Nothing: the search is done. Else the answer that says why not.
  std::optional<http::Response> find(const http::Request& request, const OriginalsWanted& wanted,
                                     std::vector<Original>& out) const;

  http::Response check(const http::Request& request) const;
  http::Response document(const http::Request& request) const;
  http::Response forget_id(const http::Request& request);
  http::Response forget_tag(const http::Request& request);
  http::Response forget(const std::string& what);
  http::Response cluster(const http::Request& request) const;
  http::Response snapshot() const;

  // Handlers hold it shared while they run; after close() they only say that they are closed.
  struct Gate {
    std::shared_mutex mutex;
    bool closed = false;
  };

  const ApiParts parts_;
  const std::shared_ptr<Gate> gate_ = std::make_shared<Gate>();
  mutable Turn searching_;  // one search at a time
};

}  // namespace doppel

#pragma once
// The API under /v1 (docs/openapi.yaml). Its handlers run on the server's threads and read the index through
// the mailbox. Requests to forget originals go through the log with the next batches, like every other
// change.

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <shared_mutex>
#include <span>
#include <string>
#include <vector>

#include "engine/engine.h"
#include "http/server.h"
#include "pipeline/sign_record.h"
#include "status/activity.h"
#include "status/captures.h"
#include "status/forgetting.h"
#include "status/mailbox.h"

namespace doppel {

struct ApiParts {  // the references outlive the API
  const Engine& engine;
  const KeptOriginals& originals;
  const Bodies& bodies;
  const Activity& activity;
  const Captures& captures;
  Mailbox& mailbox;
  FormatOptions format;
  KeyPolicy keys;
  std::function<absl::Status()> checkpoint;  // called on the pipeline's thread
  Forgetting* forgetting = nullptr;          // null: the API cannot forget originals
  std::string forgets_not;                   // why not
  // How long the look-up of an id may take if no token is configured, and with the token; how long a request
  // to forget waits for its completion.
  std::chrono::milliseconds open_search{5'000}, token_search{60'000}, forget{60'000};
};

class Api {
 public:
  explicit Api(ApiParts parts);
  // Adds the routes. Handlers work until close().
  void route(http::Server& server);
  // Wraps a handler in the same way as the API's own: it does not run after close().
  http::Handler guarded(http::Handler handler) const;

  // Waits for running handlers; later requests are refused. Close the mailbox first. Nothing uses this object
  // after.
  void close();

 private:
  struct Original {
    Seq seq = 0;
    std::string metadata;  // encoded; only for the first kShownMost
  };
  // Nullopt: the search is complete. Otherwise returns the response that says why not.
  std::optional<http::Response> find(const http::Request& request, const OriginalsWanted& wanted,
                                     std::vector<Original>& out) const;

  // check.cc
  http::Response check(const http::Request& request) const;
  http::Response check_lines(const http::Request& request) const;
  struct Checked;
  std::optional<http::Response> judge(std::span<const Record> records, RecordSigner& signer,
                                      std::vector<Checked>& out) const;

  // crawlers.cc
  http::Response digest(const http::Request& request) const;
  http::Response zeno_record(const http::Request& request) const;
  http::Response cdx(const http::Request& request) const;
  struct Found;
  Found find_payload(const http::Request& request) const;

  static constexpr std::chrono::milliseconds kAnswerTime{5'000};
  static http::Response busy();
  http::Response document(const http::Request& request) const;
  http::Response forget_id(const http::Request& request);
  http::Response forget_tag(const http::Request& request);
  http::Response forget(const std::string& what);
  http::Response cluster(const http::Request& request) const;
  http::Response snapshot() const;

  // Handlers hold the mutex shared while they run. After close() they only answer 503.
  struct Gate {
    std::shared_mutex mutex;
    bool closed = false;
  };

  const ApiParts parts_;
  const std::shared_ptr<Gate> gate_ = std::make_shared<Gate>();
  mutable OneAtATime searching_;  // one search at a time
};

}  // namespace doppel

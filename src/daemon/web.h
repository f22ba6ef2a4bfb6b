#pragma once
// The API and the status page of a running daemon. Connects the HTTP server with the pipeline.

#include <functional>
#include <string>
#include <vector>

#include "config/config.h"
#include "http/server.h"
#include "status/activity.h"
#include "status/api.h"
#include "status/captures.h"
#include "status/mailbox.h"
#include "status/page.h"

namespace doppel {

struct WebParts {  // the references outlive the Web
  const Config& config;
  const Engine& engine;
  const KeptOriginals& originals;
  const Bodies& bodies;
  KeyPolicy keys = {};
  // Null: the API cannot forget originals; `forgets_not` says why.
  Forgetting* forgetting = nullptr;
  std::string forgets_not = "this daemon changes nothing (dry_run)";
  // Called on the pipeline's thread; empty if there is no state directory.
  std::function<absl::Status()> checkpoint;
  std::function<CheckpointStats()> snapshots;
  // Called on any thread; empty if there are no partitions.
  std::function<std::vector<PageData::Lag>()> lags;
  // Called on any thread; empty if one process does everything.
  std::function<ClusterPart()> cluster;
};

class Web {
 public:
  // `server` may be null; then observe() and progress() do nothing.
  Web(http::Server* server, WebParts parts);
  // After this no handler uses the parts. The server continues to run and answers 503.
  ~Web();
  Web(const Web&) = delete;
  Web& operator=(const Web&) = delete;

  // For Pipeline::observe and Pipeline::progress, on the pipeline's thread.
  void observe(const Decided& decided);
  void progress(const Counters& counters);
  // For Pipeline::waker: questions ring it.
  Waker& waker() { return waker_; }

 private:
  http::Response page(const http::Request& request);
  http::Response cluster(const http::Request& request) const;
  http::Response no_insert() const;

  http::Server* server_;
  WebParts parts_;
  Waker waker_;
  Mailbox mailbox_;
  Activity activity_;
  Captures captures_;
  Api api_;
};

}  // namespace doppel

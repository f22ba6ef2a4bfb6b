#pragma once
// What a running daemon shows over HTTP: the API and the status page, between the server and the pipeline.

#include <functional>
#include <string>
#include <vector>

#include "config/config.h"
#include "http/server.h"
#include "status/activity.h"
#include "status/api.h"
#include "status/mailbox.h"
#include "status/page.h"

namespace doppel {

struct WebParts {  // all outlive the Web
  const Config& config;
  const Engine& engine;
  const KeptOriginals& originals;
  const Bodies& bodies;
  KeyPolicy keys = {};
  // Null: nothing may be forgotten; `forgets_not` says why.
  Forgetting* forgetting = nullptr;
  std::string forgets_not = "this daemon changes nothing (dry_run)";
  // On the pipeline's thread; empty: nothing is kept.
  std::function<absl::Status()> checkpoint;
  std::function<CheckpointStats()> snapshots;
  // Any thread; empty: there are no partitions.
  std::function<std::vector<PageData::Lag>()> lags;
  // Any thread; empty: one process does everything.
  std::function<ClusterPart()> cluster;
};

class Web {
 public:
  // server: null where there is none; then nothing here costs anything.
  Web(http::Server* server, WebParts parts);
  // After this no handler looks at the parts; the server goes on, and answers 503.
  ~Web();
  Web(const Web&) = delete;
  Web& operator=(const Web&) = delete;

  // What the pipeline calls, under the same names.
  void observe(const Decided& decided);
  void progress(const Counters& counters);

 private:
  http::Response page(const http::Request& request);
  http::Response cluster(const http::Request& request) const;

  http::Server* server_;
  WebParts parts_;
  Mailbox mailbox_;
  Activity activity_;
  Api api_;
};

}  // namespace doppel

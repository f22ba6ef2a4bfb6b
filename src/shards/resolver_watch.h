#pragma once
// What a resolver knows of its cluster, for pages and metrics. The pipeline's thread writes it; any thread
// may read it.

#include <map>
#include <mutex>
#include <string>

#include "engine/shard_set.h"
#include "status/cluster_status.h"
#include "status/page.h"

namespace doppel {

class ResolverWatch {
 public:
  explicit ResolverWatch(uint64_t ahead_most) { status_.ahead_most = ahead_most; }

  // A matcher has answered the order up to `end`, as of a cut.
  void heard(const ShardSet& shards, uint64_t end, uint64_t as_of);
  // The resolver decides up to this offset, by the answers of the matchers in `in_use`.
  void decides(uint64_t offset, uint64_t cut, uint64_t window_originals,
               const std::vector<std::string>& in_use);
  // The resolver waits for the answers of these shards.
  void waits(const std::string& missing);
  void asked_batch();
  void asked_document();

  ResolverStatus status() const;

 private:
  struct Heard {
    ShardSet shards;
    uint64_t end = 0, as_of = 0;
    int64_t at_ms = 0;
    bool in_use = false;
  };

  mutable std::mutex mutex_;  // guards the members below
  ResolverStatus status_;
  std::map<std::string, Heard> heard_;
  uint64_t offset_ = 0, cut_ = 0;
};

// What the status pages of resolver and matchers show of an index on many machines.
ClusterPart cluster_part(const ResolverStatus& status, int64_t now_ms);
ClusterPart cluster_part(const MatcherStatus& status);

}  // namespace doppel

#pragma once
// What a resolver shows of its cluster: written by the pipeline's thread, read by any.

#include <map>
#include <mutex>
#include <string>

#include "engine/shard_set.h"
#include "status/cluster_status.h"

namespace doppel {

class ResolverWatch {
 public:
  explicit ResolverWatch(uint64_t ahead_most) { status_.ahead_most = ahead_most; }

  // A matcher has answered the order up to `end`, as of a cut.
  void heard(const ShardSet& shards, uint64_t end, uint64_t as_of);
  // Decides up to this offset, by the answers of these.
  void decides(uint64_t offset, uint64_t cut, uint64_t window_originals,
               const std::vector<std::string>& in_use);
  // Waits for the answers of these shards.
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

  mutable std::mutex mutex_;  // of what follows
  ResolverStatus status_;
  std::map<std::string, Heard> heard_;
  uint64_t offset_ = 0, cut_ = 0;
};

}  // namespace doppel

#pragma once
// Recent activity of the stream, in bounded memory: clusters that grew, the last duplicates, the most-copied
// originals and pairs of hosts, and the rates of the last hour. The pipeline's thread adds each batch; any
// thread may read.

#include <array>
#include <chrono>
#include <cstdint>
#include <deque>
#include <list>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "pipeline/pipeline.h"
#include "status/heavy_hitters.h"

namespace doppel {

struct Copy {            // one duplicate
  std::string document;  // encoded metadata
  Kind kind = Kind::none;
  bool estimated = false;
  uint32_t similarity_ppm = 0;
  int64_t at_ms = 0;  // when it was settled
};

struct Cluster {
  static constexpr size_t kMembers = 16;
  Seq seq = 0;
  std::string original;  // encoded metadata
  std::string host;      // of its URL
  uint64_t exact = 0, near = 0;
  int64_t first_ms = 0, last_ms = 0;
  int64_t since_ms = 0;                // copies before this time are not counted
  std::array<Copy, kMembers> members;  // a ring buffer
  // The last copies, newest first.
  std::vector<const Copy*> last() const;
};

struct LastEvent {
  Copy copy;
  std::string original;  // encoded metadata
};

// A record that could not be read, or whose document may not be kept.
struct DeadLetter {
  std::string where;  // such as "topic/partition/offset" or "path:line"
  std::string reason;
  int64_t at_ms = 0;
};

// Counters at one moment. The difference of two samples gives rates.
struct Sample {
  int64_t at_ms = 0;
  uint64_t documents = 0, unique = 0, exact = 0, near = 0, unscored = 0, rejected = 0, skipped = 0;
  uint64_t partial = 0;  // duplicates because an original contains them
  RelationCounts related;
  uint64_t copies() const { return exact + near + partial; }
  uint64_t bytes = 0, duplicate_bytes = 0;
};

class Activity {
 public:
  static constexpr size_t kClusters = 1024, kEvents = 50, kDeadLetters = 10, kHitters = 256, kSamples = 361;
  // If a batch has more duplicates than this, originals and hosts are counted from a sample of them.
  static constexpr size_t kLookedAt = 64;
  static constexpr int64_t kSampleMs = 10'000;
  static constexpr size_t kMetadataMost = 2048;  // longer metadata are kept without their extras

  explicit Activity(int64_t now_ms) : start_ms_(now_ms), samples_{Sample{.at_ms = now_ms}} {}

  // Call these on the pipeline's thread. The caller passes the time, so that tests need not wait.
  void observe(const Decided& decided, int64_t now_ms);
  void sample(const Counters& counters, int64_t now_ms);

  // Any thread may call these; they return copies.
  int64_t start_ms() const { return start_ms_; }
  std::optional<Cluster> cluster(Seq seq) const;
  std::optional<Cluster> cluster(std::string_view cluster_id) const;         // event_id of the original
  std::vector<LastEvent> events() const;                                     // newest first
  std::vector<DeadLetter> dead_letters() const;                              // newest first
  std::vector<HeavyHitters<Seq>::Entry> originals(size_t n) const;           // note: encoded metadata
  std::vector<HeavyHitters<std::string>::Entry> host_pairs(size_t n) const;  // "copy's host\noriginal's host"
  std::vector<Sample> samples() const;  // oldest first, the last one as of now

 private:
  Cluster& grow(Seq seq, int64_t now_ms);
  void keep_dead_letters(const Decided& decided, int64_t now_ms);

  struct Slot {
    Cluster cluster;
    std::list<size_t>::iterator used;
  };
  const int64_t start_ms_;
  mutable std::mutex mutex_;
  std::vector<Slot> slots_;
  std::list<size_t> used_;  // indexes of slots_, most recently grown first
  absl::flat_hash_map<Seq, size_t> places_;
  bool dropped_ = false;  // a slot was reused for another cluster
  std::array<LastEvent, kEvents> events_;
  uint64_t event_count_ = 0;
  std::deque<DeadLetter> dead_letters_;  // newest first
  HeavyHitters<Seq> originals_{kHitters};
  HeavyHitters<std::string> hosts_{kHitters};
  std::deque<Sample> samples_;  // begins with an empty one at the start
  Sample now_;
  uint64_t random_ = 1;
  std::string pair_;  // reused, to avoid allocations
};

}  // namespace doppel

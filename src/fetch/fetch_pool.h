#pragma once
// Threads that read the WARC records of one batch: many in parallel, in any order, with retries while roots
// do not answer.

#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "fetch/cdxj_index.h"
#include "fetch/warc_root.h"

namespace doppel {

// The result of a fetch.
enum class FetchResult : uint8_t {
  ok,
  missing,    // no root has the record
  refused,    // a web server refuses it (403, 416, no range requests)
  damaged,    // there is no complete record
  mismatch,   // the record belongs to another URL
  timed_out,  // no root answered within max_wait
};
inline constexpr size_t kFetchResults = 6;
std::string_view fetch_result_name(FetchResult result);

struct FetchCounts {
  std::array<uint64_t, kFetchResults> results{};
  uint64_t retries = 0;
  uint64_t bytes = 0;  // size of the records that were read
  uint64_t of(FetchResult result) const { return results[static_cast<size_t>(result)]; }
  uint64_t given_up() const;  // all results but ok
};

// The fetch of one record of a batch. The first part is filled in by the caller, the second by the pool.
struct Fetch {
  bool wanted = false;
  bool payload_known = false;  // so it is not wanted
  bool known_missing = false;  // `reason` comes from an earlier run
  RecordLocation place;        // no file name: look the record up by URL and time
  std::string url;             // the record must belong to it
  std::optional<int64_t> time_ms;

  bool done = false;
  std::string record;      // kRecordPadding more bytes are readable behind it
  bool revisited = false;  // it is the one that a revisit record refers to
  std::string reason;      // why it could not be read; empty: it was
};

struct FetchPoolOptions {
  int parallel = 16;
  std::chrono::milliseconds max_wait{600'000};
};

class FetchPool {
 public:
  using Clock = std::chrono::steady_clock;

  // Sets `cancel` in the destructor, to end current reads. `cdxj` may be nullptr.
  FetchPool(std::vector<std::unique_ptr<WarcRoot>> roots, std::unique_ptr<CdxjIndex> cdxj,
            const FetchPoolOptions& options, std::shared_ptr<std::atomic<bool>> cancel);
  ~FetchPool();

  // Begins to fetch the wanted records of a batch. All fetches of the previous batch must be done. Reading
  // pauses while more than `max_bytes` are held that taken() has not reported; current reads may exceed that.
  // `fetches` must not move until all are done or the pool is destroyed.
  void start(std::vector<Fetch>& fetches, uint64_t max_bytes);

  // Waits until all are done, reading pauses because of `max_bytes`, or `until`. Returns how many fetches
  // are done without a gap, counted from the first.
  size_t await(Clock::time_point until);
  // Reports that the pool no longer holds the first `count` records.
  void taken(size_t count);

  // Fetches one record on the calling thread, in parallel to the others. An error: stop() returned true.
  absl::Status fetch_now(Fetch& fetch, const std::function<bool()>& stop);

  FetchCounts counts() const;

 private:
  struct Wait {
    size_t tries = 0;
    Clock::time_point first;  // time of its first failure
  };

  void work();
  std::optional<size_t> choose(Clock::time_point now, std::optional<Clock::time_point>& next) const;
  absl::StatusOr<std::string> read(Fetch& fetch, uint64_t round) const;
  absl::StatusOr<std::string> read_at(const RecordLocation& place, uint64_t round) const;
  void end(size_t i, absl::StatusOr<std::string> record);
  void finish(size_t i, FetchResult result, std::string reason);
  bool is_full() const { return held_ >= max_bytes_; }
  // Whether nothing can be handed on before this one. It is read even if too much is held.
  bool is_awaited(size_t i) const { return i == first_open_ && first_open_ == taken_; }

  const std::vector<std::unique_ptr<WarcRoot>> roots_;
  const std::unique_ptr<CdxjIndex> cdxj_;
  const FetchPoolOptions options_;
  const std::shared_ptr<std::atomic<bool>> cancel_;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Fetch>* fetches_ = nullptr;
  std::vector<Wait> waits_;  // parallel to *fetches_
  std::multimap<Clock::time_point, size_t>
      due_;                // fetches that wait for a thread, by the time of their next try
  size_t first_open_ = 0;  // all before it are done
  size_t taken_ = 0;
  uint64_t held_ = 0, max_bytes_ = 0;
  uint64_t round_ = 0;
  Clock::time_point quiet_since_;  // time of a root's last answer
  FetchCounts counts_;
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace doppel

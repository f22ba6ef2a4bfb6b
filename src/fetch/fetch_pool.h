#pragma once
// Threads that read records of WARC files for one batch: many at once, in any order, with patience for roots
// that do not answer.

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

// How a fetch ended.
enum class FetchResult : uint8_t {
  ok,
  missing,    // no root has it
  refused,    // a web server does not give it (403, 416, no range requests)
  damaged,    // no whole record is there
  mismatch,   // the record is of another URL
  timed_out,  // no root answered within max_wait
};
inline constexpr size_t kFetchResults = 6;
std::string_view fetch_result_name(FetchResult result);

struct FetchCounts {
  std::array<uint64_t, kFetchResults> results{};
  uint64_t retries = 0;
  uint64_t bytes = 0;  // of the records that were read
  uint64_t of(FetchResult result) const { return results[static_cast<size_t>(result)]; }
  uint64_t given_up() const;  // all but ok
};

// What one record of the batch needs. Filled by its owner, then given to the pool, which fills the rest.
struct Fetch {
  bool wanted = false;
  bool payload_known = false;  // and therefore it is not
  bool known_missing = false;  // `reason` is that of an earlier run
  WarcPlace place;             // no file name: it is looked up by URL and time
  std::string url;             // what the record must be of
  std::optional<int64_t> time_ms;

  bool done = false;
  std::string record;      // with kRecordPadding readable bytes behind it
  bool revisited = false;  // it is the one that a revisit record refers to
  std::string reason;      // not empty: why it could not be read
};

struct FetchPoolOptions {
  int parallel = 16;
  std::chrono::milliseconds max_wait{600'000};
};

class FetchPool {
 public:
  using Clock = std::chrono::steady_clock;

  // `cancel` is set at the end, so that reads that are under way end.
  // `cdxj` may be nullptr.
  FetchPool(std::vector<std::unique_ptr<WarcRoot>> roots, std::unique_ptr<CdxjIndex> cdxj,
            const FetchPoolOptions& options, std::shared_ptr<std::atomic<bool>> cancel);
  ~FetchPool();

  // Begins to fetch what is wanted of a batch; of the one before everything is done. Not more than
  // `max_bytes` are held (and what is under way) beyond what taken() has reported. `fetches` stay where they
  // are until all are done, or the pool ends.
  void start(std::vector<Fetch>& fetches, uint64_t max_bytes);

  // Waits until all are done, so much is held that no more is fetched, or it is `until`. How many are done
  // from the first on, without a gap.
  size_t await(Clock::time_point until);
  // The first `count` are not held any more.
  void taken(size_t count);

  // One record at once, on the thread that asks; beside what is under way.
  absl::Status fetch_now(Fetch& fetch, const std::function<bool()>& stop);

  FetchCounts counts() const;

 private:
  struct Wait {
    size_t tries = 0;
    Clock::time_point first;  // when it failed first
  };

  void work();
  std::optional<size_t> choose(Clock::time_point now, std::optional<Clock::time_point>& next) const;
  absl::StatusOr<std::string> read(Fetch& fetch, uint64_t round) const;
  absl::StatusOr<std::string> read_at(const WarcPlace& place, uint64_t round) const;
  void end(size_t i, absl::StatusOr<std::string> record);
  void finish(size_t i, FetchResult result, std::string reason);
  bool is_full() const { return held_ >= max_bytes_; }
  // Nothing can be handed on before this one: it is read in any case.
  bool is_awaited(size_t i) const { return i == first_open_ && first_open_ == taken_; }

  const std::vector<std::unique_ptr<WarcRoot>> roots_;
  const std::unique_ptr<CdxjIndex> cdxj_;
  const FetchPoolOptions options_;
  const std::shared_ptr<std::atomic<bool>> cancel_;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Fetch>* fetches_ = nullptr;
  std::vector<Wait> waits_;                       // parallel to it
  std::multimap<Clock::time_point, size_t> due_;  // what waits for a thread, by the time of its next try
  size_t first_open_ = 0;                         // everything before is done
  size_t taken_ = 0;
  uint64_t held_ = 0, max_bytes_ = 0;
  uint64_t round_ = 0;
  Clock::time_point quiet_since_;  // no root has answered since
  FetchCounts counts_;
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace doppel

// One lock, held only for moments: a thread takes a fetch that is due, reads without the lock, and records
// the result. If no root answers, the fetch is due again after a pause, which doubles each time.

#include "fetch/fetch_pool.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/check.h"
#include "base/reason.h"
#include "base/status.h"
#include "formats/decoder.h"
#include "formats/warc/warc.h"

namespace doppel {
namespace {

constexpr std::chrono::milliseconds kFirstPause(100), kLongestPause(5000);

FetchResult result_of(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kOk:
      return FetchResult::ok;
    case absl::StatusCode::kNotFound:
      return FetchResult::missing;
    case absl::StatusCode::kInvalidArgument:
      return FetchResult::mismatch;
    case absl::StatusCode::kDataLoss:
      return FetchResult::damaged;
    case absl::StatusCode::kUnavailable:
      return FetchResult::timed_out;
    default:
      return FetchResult::refused;
  }
}

std::string why_not(FetchResult result, const absl::Status& status) {
  if (result == FetchResult::ok) return {};
  const std::string why(status.message());
  return result == FetchResult::mismatch ? why : message_of(Reason::fetch_failed, ": " + why);
}

}  // namespace

std::string_view fetch_result_name(FetchResult result) {
  constexpr std::array<std::string_view, kFetchResults> kNames = {"ok",      "missing",  "refused",
                                                                  "damaged", "mismatch", "timed_out"};
  return kNames[static_cast<size_t>(result)];
}

uint64_t FetchCounts::given_up() const {
  return std::accumulate(results.begin() + 1, results.end(), uint64_t{0});
}

FetchPool::FetchPool(std::vector<std::unique_ptr<WarcRoot>> roots, std::unique_ptr<CdxjIndex> cdxj,
                     const FetchPoolOptions& options, std::shared_ptr<std::atomic<bool>> cancel)
    : roots_(std::move(roots)), cdxj_(std::move(cdxj)), options_(options), cancel_(std::move(cancel)) {
  for (int i = 0; i < std::max(1, options_.parallel); ++i) threads_.emplace_back([this] { work(); });
}

FetchPool::~FetchPool() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  *cancel_ = true;
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void FetchPool::start(std::vector<Fetch>& fetches, uint64_t max_bytes) {
  const std::lock_guard lock(mutex_);
  const Clock::time_point now = Clock::now();
  fetches_ = &fetches;
  waits_.assign(fetches.size(), {});
  due_.clear();
  for (size_t i = 0; i < fetches.size(); ++i) {
    fetches[i].done = !fetches[i].wanted;
    if (fetches[i].wanted) due_.emplace_hint(due_.end(), now, i);
  }
  first_open_ = taken_ = 0;
  while (first_open_ < fetches.size() && fetches[first_open_].done) ++first_open_;
  held_ = 0;
  max_bytes_ = max_bytes;
  quiet_since_ = now;
  ++round_;
  changed_.notify_all();
}

size_t FetchPool::await(Clock::time_point until) {
  std::unique_lock lock(mutex_);
  changed_.wait_until(lock, until,
                      [&] { return first_open_ == fetches_->size() || (is_full() && first_open_ > taken_); });
  return first_open_;
}

void FetchPool::taken(size_t count) {
  const std::lock_guard lock(mutex_);
  DOPPEL_CHECK(count <= first_open_ && first_open_ <= fetches_->size(), "only what is done is taken", count,
               first_open_, fetches_->size());
  for (; taken_ < count; ++taken_) {
    const size_t bytes = (*fetches_)[taken_].record.size();
    DOPPEL_CHECK(bytes <= held_, "what is taken was held", bytes, held_, taken_);
    held_ -= bytes;
  }
  changed_.notify_all();
}

absl::Status FetchPool::fetch_now(Fetch& fetch, const std::function<bool()>& stop) {
  const Clock::time_point last = Clock::now() + options_.max_wait;
  for (auto pause = kFirstPause;; pause = std::min(pause * 2, kLongestPause)) {
    absl::StatusOr<std::string> record = read(fetch, UINT64_MAX);
    const FetchResult result = result_of(record.status());
    std::unique_lock lock(mutex_);
    if (result != FetchResult::timed_out || Clock::now() >= last) {
      ++counts_.results[static_cast<size_t>(result)];
      fetch.reason = why_not(result, record.status());
      if (record.ok()) fetch.record = *std::move(record);
      return absl::OkStatus();
    }
    ++counts_.retries;
    const auto again = std::min(Clock::now() + pause, last);
    while (Clock::now() < again) {
      if (stop()) return absl::CancelledError("stopped");
      changed_.wait_until(lock, std::min(again, Clock::now() + kFirstPause));
    }
  }
}

FetchCounts FetchPool::counts() const {
  const std::lock_guard lock(mutex_);
  return counts_;
}

// Returns the fetch that a thread should do now. Otherwise `next` is when to ask again, if that is known.
std::optional<size_t> FetchPool::choose(Clock::time_point now, std::optional<Clock::time_point>& next) const {
  next.reset();
  for (const auto& [at, i] : due_) {
    if (at > now) {
      if (!is_full()) next = at;
      break;
    }
    if (!is_full() || is_awaited(i)) return i;
  }
  if (is_full() && !next) {
    for (const auto& [at, i] : due_) {
      if (is_awaited(i)) next = at;
    }
  }
  return std::nullopt;
}

void FetchPool::work() {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    std::optional<Clock::time_point> next;
    const std::optional<size_t> i = choose(Clock::now(), next);
    if (!i) {
      if (next) {
        changed_.wait_until(lock, *next);
      } else {
        changed_.wait(lock);
      }
      continue;
    }
    due_.erase(std::find_if(due_.begin(), due_.end(), [&](const auto& due) { return due.second == *i; }));
    Fetch& fetch = (*fetches_)[*i];
    const uint64_t round = round_;
    lock.unlock();
    absl::StatusOr<std::string> record = read(fetch, round);
    lock.lock();
    if (stopping_) return;
    end(*i, std::move(record));
    changed_.notify_all();
  }
}

// Reads the wanted record. Follows a revisit record to its original, if that can be found.
absl::StatusOr<std::string> FetchPool::read(Fetch& fetch, uint64_t round) const {
  RecordLocation place = fetch.place;
  if (place.filename.empty()) {
    ASSIGN_OR_RETURN(place, cdxj_->find(fetch.url, fetch.time_ms));
    if (!is_safe_filename(place.filename))
      return absl::DataLossError(fmt::format("\"{}\" is not a name below a root", place.filename));
  }
  ASSIGN_OR_RETURN(std::string record, read_at(place, round));
  absl::StatusOr<WarcRecord> head = parse_warc_record(record);
  if (!head.ok()) return absl::DataLossError(head.status().message());
  RETURN_IF_ERROR(check_target(*head, fetch.url));
  if (head->type != WarcType::revisit || !cdxj_ || head->refers_to_uri.empty()) return record;
  const absl::StatusOr<RecordLocation> original =
      cdxj_->find(head->refers_to_uri, parse_time(head->refers_to_date));
  if (!original.ok() || !is_safe_filename(original->filename)) return record;
  absl::StatusOr<std::string> followed = read_at(*original, round);
  if (absl::IsUnavailable(followed.status())) return followed;
  const absl::StatusOr<WarcRecord> found =
      followed.ok() ? parse_warc_record(*followed) : absl::StatusOr<WarcRecord>(followed.status());
  if (!found.ok() || found->type == WarcType::revisit || !check_target(*found, head->refers_to_uri).ok())
    return record;
  fetch.revisited = true;
  return followed;
}

// Reads from the first root that has the record.
absl::StatusOr<std::string> FetchPool::read_at(const RecordLocation& place, uint64_t round) const {
  absl::StatusOr<std::string> record = absl::NotFoundError("there is no root to look for WARC files");
  for (const std::unique_ptr<WarcRoot>& root : roots_) {
    absl::StatusOr<std::string> here = root->read(place, round);
    // If a root is unavailable, it may be the one that has the record, so do not report NotFound.
    if (!absl::IsNotFound(here.status()) || !absl::IsUnavailable(record.status())) record = std::move(here);
    if (!absl::IsNotFound(record.status()) && !absl::IsUnavailable(record.status())) break;
  }
  return record;
}

void FetchPool::end(size_t i, absl::StatusOr<std::string> record) {
  Fetch& fetch = (*fetches_)[i];
  const Clock::time_point now = Clock::now();
  const FetchResult result = result_of(record.status());
  if (result == FetchResult::ok) {
    held_ += record->size();
    counts_.bytes += record->size();
    fetch.record = *std::move(record);
    quiet_since_ = now;
    return finish(i, result, {});
  }
  std::string reason = why_not(result, record.status());
  if (result != FetchResult::timed_out) {
    quiet_since_ = now;
    return finish(i, result, std::move(reason));
  }
  Wait& wait = waits_[i];
  if (wait.tries == 0) wait.first = now;
  if (now - wait.first >= options_.max_wait) return finish(i, result, std::move(reason));
  if (now - quiet_since_ >= options_.max_wait) {
    // No root has answered for max_wait, so all waiting fetches have waited as long as this one.
    for (const auto& [at, other] : std::exchange(due_, {})) finish(other, result, reason);
    return finish(i, result, std::move(reason));
  }
  ++counts_.retries;
  const auto pause = std::min(kLongestPause, kFirstPause * (1 << std::min<size_t>(wait.tries, 10)));
  ++wait.tries;
  due_.emplace(std::min(now + pause, wait.first + options_.max_wait), i);
}

void FetchPool::finish(size_t i, FetchResult result, std::string reason) {
  DOPPEL_CHECK(i < fetches_->size() && !(*fetches_)[i].done, "a fetch ends once", i, fetches_->size());
  ++counts_.results[static_cast<size_t>(result)];
  (*fetches_)[i].reason = std::move(reason);
  (*fetches_)[i].done = true;
  while (first_open_ < fetches_->size() && (*fetches_)[first_open_].done) ++first_open_;
}

}  // namespace doppel

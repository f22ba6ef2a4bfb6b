#include "status/forgetting.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/log.h"
#include "base/status.h"

namespace doppel {
namespace {

constexpr auto kCopyTime = std::chrono::milliseconds(3);
constexpr Seq kCopyMost = 200'000;  // most places for each step, so that a search ends soon after close()
constexpr Seq kLookAtClock = 4'096;
constexpr auto kSayEvery = std::chrono::seconds(2);

}  // namespace

struct Forgetting::Task {
  Request request;
  Progress progress;       // guarded by Forgetting::mutex_
  std::vector<Seq> found;  // ascending
  size_t next = 0;         // index of the first one that no batch has removed yet
  std::vector<std::string> shown;

  uint64_t left() const { return found.size() - next; }
};

Forgetting::Forgetting(const KeptOriginals& originals, const Bodies& bodies, Search search)
    : originals_(originals), bodies_(bodies), search_(search) {}

Forgetting::~Forgetting() {
  close();
  ending_ = true;
  {
    const std::lock_guard lock(mutex_);
    changed_.notify_all();
  }
  if (searcher_.joinable()) searcher_.join();
}

// ---- any thread

Forgetting::Ticket Forgetting::ask(Request request) {
  const std::lock_guard lock(mutex_);
  if (closed_) return nullptr;
  if (!request.begins) {
    for (const Ticket& task : waiting_) {
      if (!task->request.begins && task->request.wanted.line() == request.wanted.line()) return task;
    }
  }
  if (waiting_.size() >= kWaitingMost) return nullptr;
  auto task = std::make_shared<Task>(Task{.request = std::move(request)});
  waiting_.push_back(task);
  ++unfinished_;
  return task;
}

Forgetting::Progress Forgetting::progress(const Ticket& ticket) const {
  const std::lock_guard lock(mutex_);
  Progress out = ticket->progress;
  out.work = work_;
  return out;
}

Forgetting::Progress Forgetting::await(const Ticket& ticket, std::chrono::milliseconds time_out) const {
  std::unique_lock lock(mutex_);
  const Stage& stage = ticket->progress.stage;
  changed_.wait_for(lock, time_out, [&] { return closed_ || stage == Stage::done; });
  Progress out = ticket->progress;
  out.work = work_;
  if (closed_ && stage != Stage::done) out.stage = Stage::closed;
  return out;
}

void Forgetting::close() {
  const std::lock_guard lock(mutex_);
  closed_ = true;
  changed_.notify_all();
}

// ---- the pipeline's thread

bool Forgetting::fill(Work& work) {
  if (unfinished_.load(std::memory_order_relaxed) == 0) return false;
  search_on();
  say_progress();
  return take_piece(work);
}

void Forgetting::search_on() {
  {
    const std::lock_guard lock(mutex_);
    if (closed_ || places_ready_) return;
  }
  if (searching_.empty()) begin_search();
  if (searching_.empty()) return;
  searched_to_ = std::max(searched_to_, originals_.lowest_live());
  const Seq end = std::max(searched_to_, std::min(search_end_, originals_.next_seq()));
  {
    const std::lock_guard lock(mutex_);
    for (const Ticket& task : searching_) {
      task->progress.searched = searched_to_ - originals_.lowest_live();
      task->progress.to_search = end - originals_.lowest_live();
    }
  }
  // The newest originals are in memory or in the page cache, so this thread may read them. Reading older ones
  // from a disk would take too long.
  if (read_any_ && end - searched_to_ <= kTail) {
    copy_places(end);
    read_places();
    search_done(end);
    return;
  }
  copy_places(end);
  read_any_ = true;
  if (search_ == Search::in_turn) return read_places();
  if (!searcher_.joinable()) searcher_ = std::thread([this] { run_searcher(); });
  const std::lock_guard lock(mutex_);
  places_ready_ = true;
  changed_.notify_all();
}

void Forgetting::begin_search() {
  const std::lock_guard lock(mutex_);
  if (waiting_.empty()) return;
  searching_.swap(waiting_);
  search_end_ = 0;
  for (const Ticket& task : searching_) {
    task->progress.stage = Stage::searching;
    search_end_ = std::max(search_end_, task->request.below);
  }
  searched_to_ = originals_.lowest_live();
  read_any_ = false;
  if (removing_.empty()) logged_ = Clock::now();
}

// Copies places from searched_to_ on until the time is over.
void Forgetting::copy_places(Seq end) {
  const auto until = Clock::now() + kCopyTime;
  end = std::min(end, searched_to_ + kCopyMost);
  places_.clear();
  for (; searched_to_ < end; ++searched_to_) {
    if (searched_to_ % kLookAtClock == 0 && Clock::now() > until) return;
    if (const std::optional<BodyRef> body = originals_.body(searched_to_))
      places_.push_back({searched_to_, *body});
  }
}

// Ends the search: all wanted originals with numbers below `below` are found.
void Forgetting::search_done(Seq below) {
  const auto damaged = std::count_if(unreadable_some_.begin(), unreadable_some_.end(),
                                     [&](Seq seq) { return originals_.live(seq); });
  if (damaged != 0) {
    log::warn(
        "originals could not be read during the search for originals to forget; they are kept. doppel "
        "inspect shows the damage",
        {{"originals", damaged}, {"of_unreadable", unreadable_}});
  }
  unreadable_ = 0;
  unreadable_some_.clear();
  for (const Ticket& task : searching_) {
    Request& request = task->request;
    const uint64_t all = std::max<uint64_t>(request.found, task->found.size());
    if (request.begins && all != 0) request.begins(std::min(below, request.below), all);
    const std::lock_guard lock(mutex_);
    task->progress.stage = Stage::removing;
    task->progress.found = all;
    task->progress.removed = all - task->found.size();
  }
  removing_.insert(removing_.end(), searching_.begin(), searching_.end());
  searching_.clear();
}

bool Forgetting::take_piece(Work& work) {
  piece_.clear();
  size_t room = kPiece;
  while (room > 0 && !removing_.empty()) {
    const auto smallest =
        std::min_element(removing_.begin(), removing_.end(),
                         [](const Ticket& a, const Ticket& b) { return a->left() < b->left(); });
    const Ticket& task = *smallest;
    const size_t before = task->next;
    for (; task->left() > 0 && room > 0; ++task->next) {
      const Seq seq = task->found[task->next];
      if (!originals_.live(seq)) continue;  // it has expired, or another request has removed it
      work.forget.push_back(seq);
      --room;
    }
    piece_.emplace_back(task, task->next - before);
    if (task->left() == 0) removing_.erase(smallest);
  }
  std::sort(work.forget.begin(), work.forget.end());
  work.forget.erase(std::unique(work.forget.begin(), work.forget.end()), work.forget.end());
  if (work.forget.empty()) settled();  // there is nothing to remove, so no batch is needed
  return !work.forget.empty();
}

void Forgetting::settled() {
  for (const auto& [task, removed] : piece_) {
    {
      const std::lock_guard lock(mutex_);
      task->progress.removed += removed;
      work_ += removed;
    }
    const bool last = task->left() == 0;
    if (last) finish(task);
  }
  piece_.clear();
}

void Forgetting::finish(const Ticket& task) {
  uint64_t found = 0;
  {
    const std::lock_guard lock(mutex_);
    found = task->progress.found;
    task->progress.stage = Stage::done;
    task->progress.shown = std::move(task->shown);
    --unfinished_;
    changed_.notify_all();
  }
  log::info("forgot originals by request", {{"request", task->request.wanted.line()}, {"originals", found}});
}

void Forgetting::say_progress() {
  const auto now = Clock::now();
  if (now - logged_ < kSayEvery) return;
  logged_ = now;
  std::vector<std::pair<std::string, Progress>> removing;
  Progress search;
  {
    const std::lock_guard lock(mutex_);
    for (const Ticket& task : removing_) removing.emplace_back(task->request.wanted.line(), task->progress);
    if (!searching_.empty()) search = searching_.front()->progress;
  }
  if (!searching_.empty()) {
    log::info("looking for originals to forget",
              {{"requests", searching_.size()}, {"searched", search.searched}, {"of", search.to_search}});
  }
  for (const auto& [request, p] : removing)
    log::info("forgetting originals by request",
              {{"request", request}, {"done", p.removed}, {"of", p.found}});
}

// ---- the searcher's thread

void Forgetting::run_searcher() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return ending_ || places_ready_; });
    if (ending_) return;
    lock.unlock();
    read_places();
    lock.lock();
    work_ += places_.size() + 1;
    places_ready_ = false;
  }
}

void Forgetting::read_places() {
  constexpr size_t kUnreadableKept = 1'000;
  for (const Place& place : places_) {
    if (ending_.load(std::memory_order_relaxed)) return;
    const absl::StatusOr<Body> body = bodies_.read(place.body, buffer_);
    Metadata metadata;
    if (!body.ok() || !decode_metadata(body->metadata, metadata).ok()) {
      // The original may have expired since its place was copied; search_done() checks that.
      ++unreadable_;
      if (unreadable_some_.size() < kUnreadableKept) unreadable_some_.push_back(place.seq);
      continue;
    }
    for (const Ticket& task : searching_) {
      if (place.seq >= task->request.below || !task->request.wanted.fits(metadata)) continue;
      task->found.push_back(place.seq);
      if (task->shown.size() < task->request.shown_most) task->shown.emplace_back(body->metadata);
    }
  }
}

namespace {

bool has_tag(std::string_view tags, std::string_view wanted) {
  while (!tags.empty()) {
    const size_t end = std::min(tags.find('\n'), tags.size());
    if (tags.substr(0, end) == wanted) return true;
    tags.remove_prefix(std::min(end + 1, tags.size()));
  }
  return false;
}

constexpr std::array<std::string_view, 4> kNames = {"id", "event_id", "any_id", "tag"};  // as By

}  // namespace

absl::StatusOr<OriginalsWanted> OriginalsWanted::parse(std::string_view line) {
  const size_t equals = line.find('=');
  const auto name = std::find(kNames.begin(), kNames.end(), line.substr(0, equals));
  const bool known = equals != std::string_view::npos && name != kNames.end() && equals + 1 < line.size();
  if (!known || (*name == "tag" && line.find('=', equals + 1) == std::string_view::npos))
    return invalid("a request is one line: id=ID, event_id=ID or tag=NAME=VALUE");
  return OriginalsWanted(static_cast<By>(name - kNames.begin()), line.substr(equals + 1));
}

std::string OriginalsWanted::line() const {
  return std::string(kNames[static_cast<size_t>(by_)]) + "=" + value_;
}

bool OriginalsWanted::fits(const Metadata& m) const {
  switch (by_) {
    case By::id:
      return m.name() == value_;
    case By::event_id:
      return m.event_id() == value_;
    case By::any_id:
      return m.name() == value_ || m.event_id() == value_;
    case By::tag:
      return has_tag(m.tags, value_);
  }
  return false;
}

}  // namespace doppel

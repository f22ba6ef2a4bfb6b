#pragma once
// Forgets originals by request: it searches for them and removes them with later batches.
//
// There is no table of ids or tags in memory, so a search reads the metadata of all originals, on its own
// thread. Only the pipeline's thread may read the index. Between batches it copies the places of the next
// originals for the search, for a few milliseconds at most. All requests that wait when a search begins share
// it. Once the search has caught up, the pipeline's thread reads the few newer originals itself. So the
// search finds every original that came before the first batch with removals. A request does not cover later
// originals.
//
// Each batch carries at most kPiece removals, those of the smallest request first. To continue a request
// after a crash, make it again with the number below which it searched (Request::below).

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "base/clock.h"
#include "engine/engine.h"
#include "engine/originals.h"
#include "records/metadata.h"

namespace doppel {

// Selects originals by one line: "id=ID", "event_id=ID", "tag=NAME=VALUE", or "any_id=ID" for originals that
// have ID as id or as event_id.
class OriginalsWanted {
 public:
  // The error says which lines are valid.
  static absl::StatusOr<OriginalsWanted> parse(std::string_view line);

  // Selects the originals that have `id` as id or as event_id.
  static OriginalsWanted any_id(std::string_view id) { return {By::any_id, id}; }

  bool fits(const Metadata& metadata) const;
  std::string line() const;

 private:
  enum class By { id, event_id, any_id, tag };
  OriginalsWanted(By by, std::string_view value) : by_(by), value_(value) {}

  By by_;
  std::string value_;
};

class Forgetting {
 public:
  static constexpr size_t kPiece = 5'000;      // most removals in one batch
  static constexpr size_t kWaitingMost = 100;  // most waiting requests
  static constexpr Seq kTail = 2'000;          // most originals that the pipeline's thread reads

  struct Request {
    OriginalsWanted wanted;
    size_t shown_most = 0;  // how many originals Progress::shown may list
    // The state of an interrupted run: where its search ended, and how many originals it had found.
    Seq below = std::numeric_limits<Seq>::max();
    uint64_t found = 0;
    // Called on the pipeline's thread after the search and before any removal, with the state that a later
    // run needs. A request with this callback is never merged with an equal one.
    std::function<void(Seq below, uint64_t found)> begins;
  };

  enum class Stage { waiting, searching, removing, done, closed };
  struct Progress {
    Stage stage = Stage::waiting;
    uint64_t searched = 0, to_search = 0;  // originals; set during the search
    uint64_t removed = 0, found = 0;       // originals that match, including those of an earlier run
    uint64_t work = 0;                     // grows while this object works on any request
    std::vector<std::string> shown;        // encoded metadata; set when the request is done
  };

  struct Task;
  using Ticket = std::shared_ptr<Task>;

  // Where a search reads: on its own thread, or on the pipeline's thread (for simulations).
  enum class Search { own_thread, in_turn };

  // The references outlive this object.
  Forgetting(const KeptOriginals& originals, const Bodies& bodies, Search search = Search::own_thread);
  ~Forgetting();
  Forgetting(const Forgetting&) = delete;
  Forgetting& operator=(const Forgetting&) = delete;

  // ---- any thread
  // Null: too many requests wait, or close() was called.
  Ticket ask(Request request);
  Progress progress(const Ticket& ticket) const;
  // Waits until the request is done, close() is called, or the time is over.
  Progress await(const Ticket& ticket, std::chrono::milliseconds time_out) const;
  // After this no request makes progress.
  void close();

  // ---- the pipeline's thread
  // Call it before a batch is resolved. Adds to Work::forget; returns whether there is something to remove.
  bool fill(Work& work);
  // Call it when the batch is committed. Does nothing if the batch removed nothing.
  void settled();

 private:
  struct Place {
    Seq seq = 0;
    BodyRef body;
  };

  void search_on();
  void begin_search();
  void copy_places(Seq end);
  void search_done(Seq below);
  bool take_piece(Work& work);
  void say_progress();
  void run_searcher();
  void read_places();
  void finish(const Ticket& task);

  const KeptOriginals& originals_;
  const Bodies& bodies_;
  const Search search_;

  mutable std::mutex mutex_;  // guards the members up to work_, and Task::progress
  mutable std::condition_variable changed_;
  std::vector<Ticket> waiting_;
  bool places_ready_ = false;  // places_ and Task::found belong to the searcher
  bool closed_ = false;
  uint64_t work_ = 0;

  std::atomic<bool> ending_ = false;
  std::atomic<size_t> unfinished_ = 0;  // number of tasks

  // These belong to the pipeline's thread, or to the searcher while places_ready_ is set.
  std::vector<Place> places_;
  std::vector<Ticket> searching_, removing_;
  uint64_t unreadable_ = 0;
  std::vector<Seq> unreadable_some_;
  std::string buffer_;

  // These belong to the pipeline's thread.
  Seq searched_to_ = 0, search_end_ = 0;
  bool read_any_ = false;
  std::vector<std::pair<Ticket, uint64_t>> piece_;  // how many originals the batch removes, by request
  Clock::time_point logged_;

  std::thread searcher_;
};

}  // namespace doppel

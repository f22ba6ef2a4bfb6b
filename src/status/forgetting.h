#pragma once
// Forgetting by request: the originals that are meant are searched for, and then removed with later batches.
//
// There is no table of ids or tags in memory, so a search reads the metadata of all originals. It does so on
// a thread of its own. Only the pipeline's thread may look at the index: between batches it copies the places
// of the next originals for the search, for a few milliseconds at most. All requests that wait when a search
// begins share it. When the search has caught up, the pipeline's thread reads the few originals that are
// newer; so every original is found that came before the first batch that removes. What comes later is not
// meant.
//
// Removals go with the next batches, at most kPiece with each, those of the smallest request first. A request
// that a crash interrupts is made again: give it the number below which it looked (Request::below), and it
// goes on.

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "engine/engine.h"
#include "state/kept_originals.h"
#include "status/originals_wanted.h"

namespace doppel {

class Forgetting {
 public:
  static constexpr size_t kPiece = 5'000;      // originals that one batch removes at most
  static constexpr size_t kWaitingMost = 100;  // requests
  static constexpr Seq kTail = 2'000;          // originals that the pipeline's thread reads at most

  struct Request {
    OriginalsWanted wanted;
    size_t shown_most = 0;  // of so many originals the metadata is kept
    // As an earlier run left it: where its search ended, and how many it had found.
    Seq below = std::numeric_limits<Seq>::max();
    uint64_t found = 0;
    // On the pipeline's thread, when the search is over and before anything is removed: what a later run
    // needs. A request that has it is never joined with another one.
    std::function<void(Seq below, uint64_t found)> begins;
  };

  enum class Stage { waiting, searching, removing, done, closed };
  struct Progress {
    Stage stage = Stage::waiting;
    uint64_t searched = 0, to_search = 0;  // originals, while it is searched for
    uint64_t removed = 0, found = 0;       // originals that are meant, those of an earlier run included
    uint64_t work = 0;                     // grows while anything goes on here, for this request or another
    std::vector<std::string> shown;        // metadata, encoded; when it is done
  };

  struct Task;
  using Ticket = std::shared_ptr<Task>;

  // Where a search reads: on a thread of its own, or in the turn of the pipeline's (for simulations).
  enum class Search { beside, in_turn };

  // Both outlive this.
  Forgetting(const KeptOriginals& originals, const Bodies& bodies, Search search = Search::beside);
  ~Forgetting();
  Forgetting(const Forgetting&) = delete;
  Forgetting& operator=(const Forgetting&) = delete;

  // ---- any thread
  // Null: too many wait, or it is closed.
  Ticket ask(Request request);
  Progress progress(const Ticket& ticket) const;
  // Returns when it is done or closed, or the time is over.
  Progress await(const Ticket& ticket, std::chrono::milliseconds time_out) const;
  // No request makes progress any more.
  void close();

  // ---- the pipeline's thread
  // Before a batch is resolved: adds to Work::forget. True: there is something to remove.
  bool fill(Work& work);
  // The batch is committed; without one that is under way, nothing happens.
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

  mutable std::mutex mutex_;  // of what follows, and of the progress of every task
  mutable std::condition_variable changed_;
  std::vector<Ticket> waiting_;
  bool places_ready_ = false;  // places_, and what is found, belong to the searcher
  bool closed_ = false;
  uint64_t work_ = 0;

  std::atomic<bool> ending_ = false;
  std::atomic<size_t> unfinished_ = 0;  // tasks

  // The pipeline's thread; while places_ready_ the searcher reads them.
  std::vector<Place> places_;
  std::vector<Ticket> searching_, removing_;
  uint64_t unreadable_ = 0;
  std::vector<Seq> unreadable_some_;
  std::string buffer_;

  // The pipeline's thread alone.
  Seq searched_to_ = 0, search_end_ = 0;
  bool read_any_ = false;
  std::vector<std::pair<Ticket, uint64_t>> piece_;  // what the batch under way removes, by request
  Clock::time_point said_;

  std::thread searcher_;
};

}  // namespace doppel

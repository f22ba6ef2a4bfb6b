#pragma once
// Moves the oldest originals of an index from memory into segments, when there are too many in memory, and
// merges segments so that there are few: four of about the same size become one.
//
// Both happen in the background. The rows of the next segment are copied a few at a time, so that no batch
// waits for them. They leave the index when their segment is stored and open.
//
// A segment follows from the stored rows alone, whichever of them have died: so after a start, each segment
// that ends at or before the last stored row is right, also if the state went back to an earlier commit.
//
// Call it from one thread, while nobody looks anything up.

#include <future>
#include <memory>
#include <optional>

#include "engine/bodies.h"
#include "engine/segment_store.h"
#include "index/index.h"
#include "index/segment_build.h"
#include "index/segment_set.h"

namespace doppel {

// Of one share. The store outlives the engine.
struct SegmentOptions {
  SegmentStore* store = nullptr;
  uint64_t young = 0;                         // originals that are kept in memory; at least 2
  std::launch merge_on = std::launch::async;  // deferred: when the result is taken
};

class OldOriginals {
 public:
  // `bodies` has the prints that originals list.
  OldOriginals(const CandidateIndexOptions& options, const SegmentOptions& segments, const Bodies& bodies);
  ~OldOriginals();

  const SegmentSet& set() const { return set_; }
  SegmentSet& set() { return set_; }

  // Opens what is stored from the original `first` on. What has a gap before it, or is damaged, is discarded:
  // its originals must be restored into the index. The caller has discarded segments with other numbers.
  void open(Seq first);
  // Continues the next segment, and takes what has been made in the background. Waits if otherwise more
  // than `young` originals would be in the index. The index begins where the segments end.
  absl::Status move_from(CandidateIndex& index);
  void expire_below(Seq seq);

 private:
  using Made = absl::StatusOr<std::shared_ptr<const Segment>>;
  struct Cut {
    SegmentBuilder builder;
    SegmentName name;
    Seq next;                // the first one that was not copied
    std::future<Made> made;  // when all are
    // The last one whose prints could not be read, and why. Those that have expired need not be readable.
    std::optional<Seq> unread{};
    absl::Status why_unread{};
  };
  struct Merge {
    std::vector<std::shared_ptr<const Segment>> parts;
    SegmentName name;
    std::future<Made> made;
  };
  absl::Status copy_rows(const CandidateIndex& index, uint64_t most);
  absl::Status take_cut(CandidateIndex& index);
  void begin_merge();
  absl::Status take_merge();
  Made write(Cut& cut) const;
  void add_prints(Cut& cut) const;
  Made merge(const Merge& merge) const;
  Made opened(const SegmentName& name) const;
  bool ready(const std::future<Made>& made) const;
  uint64_t rows_of_cut() const;
  int level(uint64_t rows) const;

  const CandidateIndexOptions options_;
  const SegmentOptions segments_;
  const Bodies& bodies_;
  SegmentSet set_;
  std::optional<Cut> cut_;
  std::optional<Merge> merge_;
  Seq seen_ = 0;  // the index ended here in the last move_from()
};

}  // namespace doppel

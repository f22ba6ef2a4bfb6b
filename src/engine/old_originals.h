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
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "engine/bodies.h"
#include "index/index.h"
#include "index/segment_build.h"
#include "index/segment_format.h"
#include "index/segment_set.h"

namespace doppel {

// The originals [first, end) of a segment.
struct SegmentName {
  Seq first = 0, end = 0;
  bool operator==(const SegmentName&) const = default;
};

// A segment that is being written. If it is destroyed before finish(), nothing remains.
class SegmentBeingWritten : public SegmentSink {
 public:
  // Afterwards the segment is stored, also after a power loss.
  virtual absl::Status finish() = 0;
};

// Where the segments of old originals are kept. state/segment_file.h keeps them as files. Different
// threads may create different segments.
class SegmentStore {
 public:
  virtual ~SegmentStore() = default;
  virtual std::vector<SegmentName> list() const = 0;  // in any order
  virtual absl::StatusOr<std::unique_ptr<SegmentBeingWritten>> create(const SegmentName& name) = 0;
  virtual absl::StatusOr<std::unique_ptr<SegmentSource>> open(const SegmentName& name) = 0;
  // An open source stays readable.
  virtual void remove(const SegmentName& name) = 0;
  virtual const PageReader& reader() const = 0;
};

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

// The index of a share: all originals in memory, or the old ones in segments. It finds the same either way.
//
// Threads: like CandidateIndex.
class ShareIndex {
 public:
  ShareIndex(const CandidateIndexOptions& options, const SegmentOptions& segments, const Bodies& bodies);

  const CandidateIndexOptions& options() const { return young_.options(); }
  // With segments, that of the young originals alone.
  const CandidateIndex& young() const { return young_; }
  CandidateIndex& young() { return young_; }
  const SegmentSet* old() const { return old_ == nullptr ? nullptr : &old_->set(); }

  Seq next_seq() const { return young_.next_seq(); }
  Seq lowest_live() const { return any_old() ? old_->set().lowest_live() : young_.lowest_live(); }
  bool live(Seq seq) const { return is_old(seq) ? old_->set().live(seq) : young_.live(seq); }

  // Adds to `bodies` those of old originals that are found.
  absl::Status lookup(std::span<const Query> queries, std::span<Found> out, KnownBodies& bodies) const;
  // The views of the row point into `page`, or into the index.
  absl::StatusOr<Row> row(Seq seq, std::string& page) const;
  absl::StatusOr<std::vector<Seq>> find_id(uint64_t id_tag) const;
  absl::StatusOr<std::vector<Seq>> find_payload(uint32_t payload) const;

  // These do what find() and prints_of() do in PrintTable.
  absl::Status find_prints(std::span<const uint64_t> prints, uint32_t most, uint32_t count_most,
                           PrintsFound& out) const;
  uint32_t prints_of(Seq seq) const {
    return is_old(seq) ? old_->set().prints_of(seq) : young_.prints().prints_of(seq);
  }
  bool any_old() const { return old_ != nullptr && old_->set().size() != 0; }

  bool remove(Seq seq) { return is_old(seq) ? old_->set().remove(seq) : young_.remove(seq); }
  void revive(Seq seq) { is_old(seq) ? old_->set().revive(seq) : young_.revive(seq); }
  void expire_below(Seq seq);
  // Moves originals from memory if there are too many.
  absl::Status tidy() { return old_ == nullptr ? absl::OkStatus() : old_->move_from(young_); }

  // For restoring.
  void start_at(Seq seq);
  absl::Status restore(Seq seq, const Row& row, bool removed);

 private:
  bool is_old(Seq seq) const { return any_old() && seq < old_->set().next_seq(); }

  CandidateIndex young_;
  std::unique_ptr<OldOriginals> old_;  // with a store
};

}  // namespace doppel

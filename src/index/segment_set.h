#pragma once
// The originals that are in segments: a read-only peer of CandidateIndex for the numbers below those in
// memory. It finds what an index with the same originals finds; filters and entries only propose.
//
// A lookup asks the filters of all segments. Each hit could read a page of keys, and then rows. But a copy of
// an original usually hits in many bands, so a lookup reads in two rounds. The first reads one key and its
// rows. A row that is listed in other bands with the query's keys explains their hits: the second round reads
// only hits that no row explains, and keys that occur more than once.
//
// Threads: like CandidateIndex.

#include <atomic>
#include <memory>
#include <span>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "index/index.h"
#include "index/print_table.h"
#include "index/segment.h"

namespace doppel {

struct SegmentCounters {  // add them up
  uint64_t key_pages = 0;
  uint64_t row_pages = 0;
  uint64_t filter_hits = 0;
  uint64_t reads() const { return key_pages + row_pages; }
};

struct SegmentStats {  // add them up
  uint64_t segments = 0, live = 0;
  uint64_t memory_bytes = 0;              // filters and directories
  uint64_t key_pages = 0, row_pages = 0;  // read since the start, by whatever function
};

// Where the bodies of originals are that a lookup has read.
using KnownBodies = absl::flat_hash_map<Seq, BodyRef>;

class SegmentSet {
 public:
  // `reader` must outlive it.
  SegmentSet(const CandidateIndexOptions& options, const PageReader& reader);
  ~SegmentSet();

  const CandidateIndexOptions& options() const { return options_; }
  size_t size() const { return parts_.size(); }
  const Segment& segment(size_t i) const { return *parts_[i].segment; }
  const std::shared_ptr<const Segment>& shared(size_t i) const { return parts_[i].segment; }
  uint64_t memory_bytes() const;
  SegmentStats stats() const;

  // The numbers of the segment continue those before. All its rows live, until remove() says otherwise.
  void add(std::shared_ptr<const Segment> segment);
  // Puts a segment in place of `count` segments with the same numbers.
  void replace(size_t first, size_t count, std::shared_ptr<const Segment> merged);

  // These do what they do in CandidateIndex.
  Seq next_seq() const { return next_; }
  Seq lowest_live() const { return low_; }
  uint64_t live() const { return next_ - low_ - removed_; }  // how many
  bool live(Seq seq) const;
  bool remove(Seq seq);
  void revive(Seq seq);
  void expire_below(Seq seq);  // drops whole segments
  void start_at(Seq seq);

  // DataLoss: a page is damaged; the message names it.
  // Adds the bodies of all that is found to `bodies`, if it is there: a row costs a read.
  absl::Status lookup(std::span<const Query> queries, std::span<Found> out, SegmentCounters& counters,
                      KnownBodies* bodies = nullptr) const;
  // The live originals with this id tag or payload, ascending.
  absl::StatusOr<std::vector<Seq>> find_id(uint64_t id_tag) const;
  absl::StatusOr<std::vector<Seq>> find_payload(uint32_t payload) const;
  // The number of live originals that a band lists with exactly the key of these slices.
  absl::StatusOr<int> count_listed(int band, uint64_t band_key, const uint8_t* slices) const;
  // The views of the row point into `bytes`.
  absl::StatusOr<Row> row(Seq seq, std::string& bytes) const;

  // If the index lists prints, these do what find() and prints_of() do in PrintTable.
  absl::Status find_prints(std::span<const uint64_t> prints, uint32_t most, uint32_t count_most,
                           PrintsFound& out) const;
  uint32_t prints_of(Seq seq) const;

 private:
  friend struct SegmentLookup;
  struct Part {
    std::shared_ptr<const Segment> segment;
    std::vector<uint64_t> removed;  // a bit for each row; empty if none is
  };
  Part* part_of(Seq seq);
  const Part* part_of(Seq seq) const { return const_cast<SegmentSet*>(this)->part_of(seq); }
  static bool removed(const Part& part, Seq seq);
  absl::Status read_row(const Segment& segment, uint64_t ordinal, uint8_t* out) const;
  // Calls use(seq, row) for each live row that may have this key.
  template <typename Use>
  absl::Status each_with(size_t kind, uint64_t value, const Use& use) const;

  const CandidateIndexOptions options_;
  const RowLayout layout_;
  const SegmentKinds kinds_;
  const PageReader& reader_;
  std::vector<Part> parts_;  // by numbers
  Seq low_ = 0, next_ = 0;
  uint64_t removed_ = 0;  // from low_ on
  mutable std::atomic<uint64_t> key_pages_ = 0, row_pages_ = 0;
};

}  // namespace doppel

#pragma once
// The index of a share: all originals in memory, or the old ones in segments. It finds the same either way.
//
// Threads: like CandidateIndex.

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "engine/old_originals.h"
#include "index/index.h"

namespace doppel {

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

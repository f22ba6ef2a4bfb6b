#pragma once
// The originals of some shards: an index of them, what MATCH answers from it, and what a batch changes in it.
//
// match() may run on any number of threads at once, but not beside the others.

#include <functional>
#include <span>

#include "engine/match.h"
#include "engine/resolved.h"

namespace doppel {

class Share {
 public:
  // All outlive it.
  Share(const Rule& rule, ShardSet shards, const CandidateIndexOptions& options, const Bodies& bodies,
        Matcher::PayloadOf payload_of);

  const ShardSet& shards() const { return shards_; }
  CandidateIndex& index() { return index_; }
  const CandidateIndex& index() const { return index_; }
  const Matcher& matcher() const { return matcher_; }

  // By the numbers of the stream.
  bool live(Seq seq) const { return shards_.owns(seq) && index_.live(shards_.local(seq)); }
  Row row(Seq seq) const { return index_.row(shards_.local(seq)); }

  bool remove(Seq seq) { return index_.remove(shards_.local(seq)); }
  void expire_below(Seq seq);

  // Answers as of this cut: what was applied is what was decided before it.
  Cut cut() const { return cut_; }

  // What a batch has removed so far, from `first` on, while it is decided.
  void apply_deaths(const Resolved& batch, size_t first);
  // Whether so many originals more can be entered.
  absl::Status room_for(size_t rows) const;
  // All that a batch changes, of these shards. `rows` and their keys: its originals of these shards.
  void apply(const Resolved& batch, std::span<const Row> rows, const uint64_t* band_keys, int parts,
             const CandidateIndex::Run& run);

 private:
  const ShardSet shards_;
  CandidateIndex index_;
  Matcher matcher_;
  Cut cut_ = 0;
};

}  // namespace doppel

#pragma once
// The originals of some shards: their index, the answers of MATCH from it, and the changes of batches to it.
//
// Any number of threads may call match() at once, but not concurrently with the other functions.

#include <functional>
#include <span>

#include "engine/match.h"
#include "engine/old_originals.h"
#include "engine/resolved.h"

namespace doppel {

class Share {
 public:
  // All arguments must outlive it.
  Share(const Rule& rule, ShardSet shards, const CandidateIndexOptions& options, const Bodies& bodies,
        Matcher::PayloadOf payload_of, const SegmentOptions& segments = {});

  const ShardSet& shards() const { return shards_; }
  ShareIndex& index() { return index_; }
  const ShareIndex& index() const { return index_; }
  const Matcher& matcher() const { return matcher_; }

  // These take numbers of the stream.
  bool live(Seq seq) const { return shards_.owns(seq) && index_.live(shards_.local(seq)); }
  // The views point into `page`, or into the index.
  absl::StatusOr<Row> row(Seq seq, std::string& page) const { return index_.row(shards_.local(seq), page); }

  bool remove(Seq seq) { return index_.remove(shards_.local(seq)); }
  void expire_below(Seq seq);

  // The cut of the answers, which include everything applied so far.
  Cut cut() const { return cut_; }

  // Applies what a batch has removed so far, from `first` on, while it is being decided.
  void apply_deaths(const Resolved& batch, size_t first);
  // Returns ResourceExhausted if the index has no room for `rows` more originals.
  absl::Status room_for(size_t rows) const;
  // Applies all changes of a batch to these shards. `rows` and their keys are the batch's originals in these
  // shards.
  absl::Status apply(const Resolved& batch, std::span<const Row> rows, const uint64_t* band_keys, int parts,
                     const CandidateIndex::Run& run);

 private:
  const ShardSet shards_;
  ShareIndex index_;
  Matcher matcher_;
  Cut cut_ = 0;
};

}  // namespace doppel

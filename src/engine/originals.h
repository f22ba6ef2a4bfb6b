#pragma once
// The originals in this process's index, by their numbers in the stream. They are spread over shares: more
// than one if there are more originals than one index takes. Each document is looked up in every share.
// Originals of other processes belong to no share; only their numbers count here.

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "engine/resolve.h"
#include "engine/share.h"
#include "index/banding.h"

namespace doppel {

struct OriginalsStats {
  uint64_t live = 0;  // in memory and in segments
  uint64_t rows = 0;  // in memory
  uint64_t table_bytes = 0, row_bytes = 0;
  uint64_t moved_entries_max = 0;
  std::vector<IndexStats> shards;   // what is in memory
  std::optional<SegmentStats> old;  // with segments
  uint64_t memory_bytes() const { return table_bytes + row_bytes + (old ? old->memory_bytes : 0); }
};

class Originals {
 public:
  // Creates a share for each of these disjoint sets. The other arguments must outlive it. `segments`: for
  // each share, or empty.
  Originals(const Rule& rule, const std::vector<ShardSet>& sets, const CandidateIndexOptions& options,
            const Bodies& bodies, const Matcher::PayloadOf& payload_of,
            const std::vector<SegmentOptions>& segments = {});

  const CandidateIndexOptions& options() const { return options_; }
  size_t shares() const { return shares_.size(); }
  bool has(Seq seq) const { return share_of(seq) < shares_.size(); }

  Seq next_seq() const { return next_seq_; }
  Seq lowest_live() const { return lowest_live_; }
  // The first number of this stream; lower ones belong to indexes that are only read.
  Seq first_own() const { return first_own_; }
  bool live(Seq seq) const { return seq < next_seq_ && has(seq) && share(seq).live(seq); }
  // The views point into `page`, or into the index.
  absl::StatusOr<Row> row(Seq seq, std::string& page) const { return share(seq).row(seq, page); }
  absl::StatusOr<BodyRef> body(Seq seq) const;
  absl::StatusOr<std::vector<Seq>> find_id(uint64_t id_tag) const;  // live, ascending
  OriginalsStats stats() const;
  void band_keys(const uint8_t* slices, uint64_t* out) const {
    for (int band = 0; band < options_.banding.bands; ++band) out[band] = keys_.key(band, slices);
  }

  // Run MATCH, or find the live original with a payload, in every share. See Matcher.
  absl::Status match(const ToMatch& work, size_t begin, size_t end, MatchCounters& counters) const;
  absl::Status find_payload(const Digest& payload, Answer& answer) const;
  // Runs MATCH as if these originals were dead; afterwards they live as before.
  absl::Status match_without(const Deaths& deaths, const std::function<absl::Status()>& match);
  Cut cut() const { return shares_.empty() ? 0 : shares_.front()->cut(); }

  // Removes an original outside a batch.
  bool remove(Seq seq);
  // Apply the changes of a batch; see Share.
  void apply_deaths(const Resolved& batch, size_t first);
  absl::Status room_for(std::span<const StoredRow> rows) const;
  absl::Status apply(const Resolved& batch, std::span<const uint64_t> band_keys, int threads,
                     const CandidateIndex::Run& run);

  // To restore, call start_at(), restore() for every row in ascending order without gaps, and
  // finish_restore(), which builds the tables.
  void start_at(Seq seq);
  absl::Status restore(const StoredRow& row);
  void finish_restore(Seq lowest_live, int threads, const CandidateIndex::Run& run);
  // The originals of this process below this are in segments.
  Seq stored_below() const;
  void begin_own() { first_own_ = next_seq_; }

 private:
  // shares_.size() if no share has it.
  size_t share_of(Seq seq) const { return share_by_shard_[seq % share_by_shard_.size()]; }
  const Share& share(Seq seq) const { return *shares_[share_of(seq)]; }
  Share& share(Seq seq) { return *shares_[share_of(seq)]; }

  const CandidateIndexOptions options_;
  const BandKeys keys_;
  std::vector<std::unique_ptr<Share>> shares_;
  std::vector<size_t> share_by_shard_;
  Seq next_seq_ = 0, lowest_live_ = 0, first_own_ = 0;

  // The rows of one share while a batch is applied.
  std::vector<Row> new_rows_;
  std::vector<uint64_t> new_keys_;
};

// The originals that a process stores, for searches: which are live, and where their bodies are. Use it
// only on the pipeline's thread, between batches.
class KeptOriginals {
 public:
  explicit KeptOriginals(const Originals& numbers) : numbers_(numbers) {}
  virtual ~KeptOriginals() = default;

  // Excludes the originals of indexes that are only read.
  Seq lowest_live() const { return std::max(numbers_.lowest_live(), numbers_.first_own()); }
  Seq next_seq() const { return numbers_.next_seq(); }
  // nullopt: it is not live, or not stored here.
  virtual std::optional<BodyRef> body(Seq seq) const {
    if (seq < numbers_.first_own() || !numbers_.live(seq)) return std::nullopt;
    return numbers_.body(seq).value_or(BodyRef());  // not readable: the reader of the body reports it
  }
  bool live(Seq seq) const { return body(seq).has_value(); }

 private:
  const Originals& numbers_;
};

}  // namespace doppel

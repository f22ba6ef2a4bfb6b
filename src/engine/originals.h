#pragma once
// All originals of this process, by their numbers in the stream. They are spread over as many shares as the
// setting `shards` says: more than one where there are more originals than one index takes. Each document is
// looked up in every share.

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "engine/share.h"

namespace doppel {

struct OriginalsStats {
  uint64_t rows = 0, live = 0;
  uint64_t table_bytes = 0, row_bytes = 0;
  uint64_t moved_entries_max = 0;
  std::vector<IndexStats> shards;
};

class Originals {
 public:
  // All outlive it.
  Originals(const Rule& rule, size_t shards, const IndexOptions& options, const Bodies& bodies,
            const Matcher::PayloadOf& payload_of);

  const IndexOptions& options() const { return shares_.front()->index().options(); }
  size_t shards() const { return shares_.size(); }
  const Owners& owners() const { return owners_; }

  Seq next_seq() const { return next_seq_; }
  Seq lowest_live() const { return lowest_live_; }
  bool live(Seq seq) const { return seq < next_seq_ && share(seq).live(seq); }
  Row row(Seq seq) const { return share(seq).row(seq); }
  std::vector<Seq> find_id(uint64_t id_tag) const;  // live, ascending
  OriginalsStats stats() const;
  void band_keys(const uint8_t* slices, uint64_t* out) const {
    shares_.front()->index().band_keys(slices, out);
  }

  // MATCH in every share, and the live original with a payload. See Matcher.
  absl::Status match(const ToMatch& work, size_t begin, size_t end, MatchCounters& counters) const;
  absl::Status find_payload(const Digest& payload, Answer& answer) const;
  Cut cut() const { return shares_.front()->cut(); }

  // A removal that no batch decides.
  bool remove(Seq seq);
  // What a batch changes; see Share.
  void apply_deaths(const Resolved& batch, size_t first);
  absl::Status room_for(std::span<const StoredRow> rows) const;
  void apply(const Resolved& batch, std::span<const uint64_t> band_keys, int threads, const Index::Run& run);

  // Restoring, in this order: start_at(), every row, ascending without gaps; finish_restore(), which makes
  // the tables.
  void start_at(Seq seq);
  absl::Status restore(const StoredRow& row);
  void finish_restore(Seq lowest_live, int threads, const Index::Run& run);

 private:
  const Share& share(Seq seq) const { return *shares_[owners_.of(seq)]; }
  Share& share(Seq seq) { return *shares_[owners_.of(seq)]; }

  std::vector<std::unique_ptr<Share>> shares_;
  Owners owners_;
  Seq next_seq_ = 0, lowest_live_ = 0;

  // Of one share, while a batch is applied.
  std::vector<Row> new_rows_;
  std::vector<uint64_t> new_keys_;
};

}  // namespace doppel

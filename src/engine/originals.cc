#include "engine/originals.h"

#include <algorithm>
#include <string>

#include "base/check.h"
#include "base/status.h"

namespace doppel {
Originals::Originals(const Rule& rule, const std::vector<ShardSet>& sets,
                     const CandidateIndexOptions& options, const Bodies& bodies,
                     const Matcher::PayloadOf& payload_of, const std::vector<SegmentOptions>& segments)
    : options_(options), keys_(options.banding, options.key) {
  DOPPEL_CHECK(segments.empty() || segments.size() == sets.size(), "each share has segments of its own",
               segments.size(), sets.size());
  share_by_shard_.assign(sets.empty() ? 1 : sets.front().of(), sets.size());
  CandidateIndexOptions share_options = options;
  share_options.initial_capacity = options.initial_capacity / std::max<size_t>(sets.size(), 1) + 1;
  share_options.indexes = std::max<size_t>(sets.size(), 1);
  for (const ShardSet& set : sets) {
    for (const uint32_t shard : set.own()) share_by_shard_[shard] = shares_.size();
    const SegmentOptions old = segments.empty() ? SegmentOptions() : segments[shares_.size()];
    shares_.push_back(std::make_unique<Share>(rule, set, share_options, bodies, payload_of, old));
  }
}

absl::StatusOr<BodyRef> Originals::body(Seq seq) const {
  std::string page;
  ASSIGN_OR_RETURN(const Row found, row(seq, page));
  return found.body;
}

absl::StatusOr<std::vector<Seq>> Originals::find_id(uint64_t id_tag) const {
  std::vector<Seq> out;
  for (const auto& share : shares_) {
    ASSIGN_OR_RETURN(const std::vector<Seq> same, share->index().find_id(id_tag));
    for (const Seq local : same) out.push_back(share->shards().global(local));
  }
  std::sort(out.begin(), out.end());
  return out;
}

OriginalsStats Originals::stats() const {
  OriginalsStats out;
  if (shares_.empty())
    out.rows = out.live = next_seq_ - lowest_live_;  // no share here: counts the originals of other processes
  for (const auto& share : shares_) {
    const IndexStats& stats = out.shards.emplace_back(share->index().young().stats());
    out.rows += stats.rows;
    out.live += stats.live;
    out.table_bytes += stats.table_bytes;
    out.row_bytes += stats.row_bytes;
    out.moved_entries_max = std::max(out.moved_entries_max, stats.moved_entries_max);
    if (share->index().old() == nullptr) continue;
    const SegmentStats old = share->index().old()->stats();
    if (!out.old) out.old.emplace();
    out.live += old.live;
    out.old->segments += old.segments;
    out.old->live += old.live;
    out.old->memory_bytes += old.memory_bytes;
    out.old->key_pages += old.key_pages;
    out.old->row_pages += old.row_pages;
  }
  return out;
}

absl::Status Originals::match(const ToMatch& work, size_t begin, size_t end, MatchCounters& counters) const {
  for (size_t owner = 0; owner < shares_.size(); ++owner)
    RETURN_IF_ERROR(shares_[owner]->matcher().match(work, begin, end, owner, cut(), counters));
  return absl::OkStatus();
}

absl::Status Originals::find_payload(const Digest& payload, Answer& answer) const {
  for (const auto& share : shares_) {
    RETURN_IF_ERROR(share->matcher().find_payload(payload, answer));
    if (answer.same_payload.has_value()) break;
  }
  return absl::OkStatus();
}

absl::Status Originals::match_without(const Deaths& deaths, const std::function<absl::Status()>& match) {
  std::vector<Seq> removed;
  const auto remove_for_now = [&](Seq seq) {
    if (remove(seq)) removed.push_back(seq);
  };
  for (const Seq seq : deaths.seqs) remove_for_now(seq);
  for (Seq seq = lowest_live_; seq < std::min(deaths.lowest_live, next_seq_); ++seq) remove_for_now(seq);
  absl::Status status = match();
  for (const Seq seq : removed) {
    Share& its = share(seq);
    its.index().revive(its.shards().local(seq));
  }
  return status;
}

bool Originals::remove(Seq seq) { return live(seq) && share(seq).remove(seq); }

void Originals::apply_deaths(const Resolved& batch, size_t first) {
  for (const auto& share : shares_) share->apply_deaths(batch, first);
  lowest_live_ = std::max(lowest_live_, std::min(batch.lowest_live, next_seq_));
}

absl::Status Originals::room_for(std::span<const StoredRow> rows) const {
  std::vector<size_t> more(shares_.size());
  for (const StoredRow& row : rows)
    if (has(row.seq)) ++more[share_of(row.seq)];
  for (size_t owner = 0; owner < shares_.size(); ++owner)
    RETURN_IF_ERROR(shares_[owner]->room_for(more[owner]));
  return absl::OkStatus();
}

absl::Status Originals::apply(const Resolved& batch, std::span<const uint64_t> band_keys, int threads,
                              const CandidateIndex::Run& run) {
  const auto bands = static_cast<size_t>(options().banding.bands);
  for (size_t owner = 0; owner < shares_.size(); ++owner) {
    new_rows_.clear();
    new_keys_.clear();
    for (size_t r = 0; r < batch.rows.size(); ++r) {
      if (share_of(batch.rows[r].seq) != owner) continue;
      new_rows_.push_back(batch.rows[r].row);
      const uint64_t* keys = band_keys.data() + batch.places[r] * bands;
      new_keys_.insert(new_keys_.end(), keys, keys + bands);
    }
    RETURN_IF_ERROR(shares_[owner]->apply(batch, new_rows_, new_keys_.data(), threads, run));
  }
  next_seq_ += batch.rows.size();
  lowest_live_ = std::max(lowest_live_, std::min(batch.lowest_live, next_seq_));
  return absl::OkStatus();
}

void Originals::start_at(Seq seq) {
  for (const auto& share : shares_) share->index().start_at(share->shards().local(seq));
  lowest_live_ = seq;
  next_seq_ = std::max(seq, stored_below());
}

Seq Originals::stored_below() const {
  Seq out = shares_.empty() ? 0 : ~Seq{0};
  for (const auto& share : shares_) {
    const SegmentSet* old = share->index().old();
    const bool any = old != nullptr && old->size() != 0;
    out = std::min(out, any ? share->shards().global(old->next_seq() - 1) + 1 : 0);
  }
  return out;
}

absl::Status Originals::restore(const StoredRow& row) {
  if (has(row.seq)) {
    RETURN_IF_ERROR(share(row.seq).room_for(1));
    Share& its = share(row.seq);
    RETURN_IF_ERROR(its.index().restore(its.shards().local(row.seq), row.row, row.removed));
  }
  next_seq_ = std::max(next_seq_, row.seq + 1);
  return absl::OkStatus();
}

void Originals::finish_restore(Seq lowest_live, int threads, const CandidateIndex::Run& run) {
  lowest_live_ = std::max(lowest_live_, std::min(lowest_live, next_seq_));
  for (const auto& share : shares_) {
    share->expire_below(lowest_live_);
    share->index().young().build_tables(threads, run);
  }
}

}  // namespace doppel

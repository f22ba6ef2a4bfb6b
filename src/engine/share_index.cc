#include "engine/share_index.h"

#include <algorithm>

#include "base/check.h"
#include "base/mutation.h"
#include "base/status.h"

namespace doppel {
namespace {

// The numbers of `more` are below those of `found`.
void merge(const Found& more, Found& found) {
  if (more.exact.has_value()) found.exact = more.exact;
  if (!more.candidates.empty()) {
    found.candidates.insert(found.candidates.end(), more.candidates.begin(), more.candidates.end());
    std::sort(found.candidates.begin(), found.candidates.end(), [](const Candidate& a, const Candidate& b) {
      return a.equal != b.equal ? a.equal > b.equal : a.seq < b.seq;
    });
  }
  for (const BandCount& count : more.counts) {
    const auto at = std::lower_bound(found.counts.begin(), found.counts.end(), count.band,
                                     [](const BandCount& c, uint16_t band) { return c.band < band; });
    if (at != found.counts.end() && at->band == count.band) {
      at->listed = static_cast<uint16_t>(std::min<uint32_t>(0xffff, uint32_t{at->listed} + count.listed));
    } else {
      found.counts.insert(at, count);
    }
  }
}

}  // namespace

ShareIndex::ShareIndex(const CandidateIndexOptions& options, const SegmentOptions& segments)
    : young_(options) {
  if (segments.store == nullptr) return;
  DOPPEL_CHECK(!options.track_prints, "prints are in memory only", options.track_prints);
  old_ = std::make_unique<OldOriginals>(options, segments);
}

absl::Status ShareIndex::lookup(std::span<const Query> queries, std::span<Found> out,
                                KnownBodies& bodies) const {
  young_.lookup(queries, out);
  if (!any_old()) return absl::OkStatus();
  thread_local std::vector<Found> old;
  if (old.size() < queries.size()) old.resize(queries.size());
  SegmentCounters counters;
  RETURN_IF_ERROR(old_->set().lookup(queries, std::span(old).first(queries.size()), counters, &bodies));
  for (size_t q = 0; q < queries.size(); ++q) merge(old[q], out[q]);
  return absl::OkStatus();
}

absl::StatusOr<Row> ShareIndex::row(Seq seq, std::string& page) const {
  if (is_old(seq)) return old_->set().row(seq, page);
  return young_.row(seq);
}

absl::StatusOr<std::vector<Seq>> ShareIndex::find_id(uint64_t id_tag) const {
  std::vector<Seq> young = young_.find_id(id_tag);
  if (!any_old()) return young;
  ASSIGN_OR_RETURN(std::vector<Seq> all, old_->set().find_id(id_tag));
  all.insert(all.end(), young.begin(), young.end());
  return all;
}

absl::StatusOr<std::vector<Seq>> ShareIndex::find_payload(uint32_t payload) const {
  std::vector<Seq> young = young_.find_payload(payload);
  if (!any_old()) return young;
  ASSIGN_OR_RETURN(std::vector<Seq> all, old_->set().find_payload(payload));
  all.insert(all.end(), young.begin(), young.end());
  return all;
}

void ShareIndex::expire_below(Seq seq) {
  if (old_ != nullptr) old_->expire_below(seq);
  if (seq > young_.lowest_live()) young_.expire_below(seq);
}

void ShareIndex::start_at(Seq seq) {
  if (old_ != nullptr) old_->open(seq);
  young_.start_at(any_old() ? old_->set().next_seq() : seq);
}

absl::Status ShareIndex::restore(Seq seq, const Row& row, bool removed) {
  if (!is_old(seq)) {
    young_.restore(row, removed);
    return tidy();
  }
  if (removed && !mutated(Mutation::segments_forget_removals)) old_->set().remove(seq);
  return absl::OkStatus();
}

}  // namespace doppel

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

// The listings of both, by print.
void join(const PrintsFound& old, const PrintsFound& young, uint32_t most, uint32_t count_most,
          PrintsFound& out) {
  out.listings.clear();
  out.numbers.clear();
  const auto take = [&](const PrintsFound& from, const PrintListing& listing) {
    out.listings.back().count += listing.count;
    for (uint32_t at = listing.begin; at < listing.end; ++at) out.numbers.push_back(from.numbers[at]);
  };
  for (size_t o = 0, y = 0; o < old.listings.size() || y < young.listings.size();) {
    const uint32_t asked = std::min(o < old.listings.size() ? old.listings[o].asked : ~uint32_t{0},
                                    y < young.listings.size() ? young.listings[y].asked : ~uint32_t{0});
    const auto begin = static_cast<uint32_t>(out.numbers.size());
    out.listings.push_back({.asked = asked, .begin = begin});
    if (o < old.listings.size() && old.listings[o].asked == asked) take(old, old.listings[o++]);
    if (y < young.listings.size() && young.listings[y].asked == asked) take(young, young.listings[y++]);
    PrintListing& listing = out.listings.back();
    if (listing.count > most) out.numbers.resize(begin);
    listing.count = std::min(listing.count, count_most);
    listing.end = static_cast<uint32_t>(out.numbers.size());
  }
}

}  // namespace

ShareIndex::ShareIndex(const CandidateIndexOptions& options, const SegmentOptions& segments,
                       const Bodies& bodies)
    : young_(options) {
  if (segments.store != nullptr) old_ = std::make_unique<OldOriginals>(options, segments, bodies);
}

absl::Status ShareIndex::lookup(std::span<const Query> queries, std::span<Found> out,
                                KnownBodies& bodies) const {
  young_.lookup(queries, out);
  if (!any_old()) return absl::OkStatus();
  thread_local std::vector<Found> old;
  old.resize(std::max(old.size(), queries.size()));  // never smaller, to keep the memory of its lists
  SegmentCounters counters;
  RETURN_IF_ERROR(old_->set().lookup(queries, std::span(old).first(queries.size()), counters, &bodies));
  for (size_t q = 0; q < queries.size(); ++q) merge(old[q], out[q]);
  return absl::OkStatus();
}

absl::Status ShareIndex::find_prints(std::span<const uint64_t> prints, uint32_t most, uint32_t count_most,
                                     PrintsFound& out) const {
  young_.prints().find(prints, most, count_most, out);
  if (!any_old()) return absl::OkStatus();
  PrintsFound young;
  PrintsFound old;
  std::swap(out, young);
  RETURN_IF_ERROR(old_->set().find_prints(prints, most, count_most, old));
  join(old, young, most, count_most, out);
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

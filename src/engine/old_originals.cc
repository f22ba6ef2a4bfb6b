#include "engine/old_originals.h"

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>

#include "base/check.h"
#include "base/faults.h"
#include "base/log.h"
#include "base/status.h"
#include "engine/bodies.h"

namespace doppel {
namespace {

constexpr size_t kMerged = 4;  // segments that become one
// With more, making another one waits for a merge: a lookup asks the filters of all.
constexpr size_t kWaitingMost = 32;
constexpr uint64_t kCopiedLeast = 16'384;  // rows that are copied at once take some milliseconds

SegmentName name_of(const Segment& segment) { return {segment.first(), segment.end()}; }

}  // namespace

OldOriginals::OldOriginals(const CandidateIndexOptions& options, const SegmentOptions& segments,
                           const Bodies& bodies)
    : options_(options), segments_(segments), bodies_(bodies), set_(options, segments.store->reader()) {}

OldOriginals::~OldOriginals() {
  if (segments_.merge_on != std::launch::async) return;
  if (cut_ && cut_->made.valid()) cut_->made.wait();
  if (merge_) merge_->made.wait();
}

OldOriginals::Made OldOriginals::opened(const SegmentName& name) const {
  ASSIGN_OR_RETURN(std::unique_ptr<SegmentSource> source, segments_.store->open(name));
  ASSIGN_OR_RETURN(std::shared_ptr<const Segment> segment, Segment::open(options_, std::move(source)));
  if (name_of(*segment) != name)
    return absl::DataLossError(absl_sv(segment->source().name() + ": has the originals of another segment"));
  return segment;
}

bool OldOriginals::ready(const std::future<Made>& made) const {
  return segments_.merge_on != std::launch::async ||
         made.wait_for(std::chrono::seconds(0)) != std::future_status::timeout;
}

void OldOriginals::open(Seq first) {
  std::vector<SegmentName> stored = segments_.store->list();
  // Of those with the same first original, the longest: it was merged from the others.
  std::sort(stored.begin(), stored.end(), [](const SegmentName& a, const SegmentName& b) {
    return a.first != b.first ? a.first < b.first : a.end > b.end;
  });
  set_.start_at(first);
  bool begun = false;
  for (const SegmentName& name : stored) {
    const bool next = begun ? name.first == set_.next_seq() : name.first <= first && first < name.end;
    if (next) {
      absl::StatusOr<std::shared_ptr<const Segment>> segment = opened(name);
      if (segment.ok()) {
        if (!begun) set_.start_at(name.first);
        begun = true;
        set_.add(*std::move(segment));
        continue;
      }
      log::warn(std_sv(segment.status().message()), {{"consequence", "the segment is made again"}});
    }
    segments_.store->remove(name);
  }
  set_.expire_below(first);
}

absl::Status OldOriginals::move_from(CandidateIndex& index) {
  if (merge_ && ready(merge_->made)) RETURN_IF_ERROR(take_merge());
  if (cut_ && cut_->made.valid() && ready(cut_->made)) RETURN_IF_ERROR(take_cut(index));
  const uint64_t young = std::max<uint64_t>(2, segments_.young);
  const uint64_t cut_rows = rows_of_cut();
  // Faster than rows come.
  const uint64_t come = index.next_seq() - std::min(seen_, index.next_seq());
  seen_ = index.next_seq();
  const uint64_t copied = std::max(kCopiedLeast, 2 * come);
  // A segment is begun in time, so that nobody waits for it.
  while (index.next_seq() - index.lowest_live() > young - cut_rows) {
    const bool late = index.next_seq() - index.lowest_live() > young;
    RETURN_IF_ERROR(copy_rows(index, late ? cut_rows : copied));
    if (!late) break;
    RETURN_IF_ERROR(take_cut(index));
  }
  return absl::OkStatus();
}

absl::Status OldOriginals::copy_rows(const CandidateIndex& index, uint64_t most) {
  const Seq first = index.lowest_live();
  if (cut_ && !cut_->made.valid() && cut_->next < first) cut_.reset();  // the rest has expired
  if (!cut_) {
    DOPPEL_CHECK(set_.size() == 0 || first == set_.next_seq(), "the index begins where the segments end",
                 first, set_.next_seq());
    cut_.emplace(Cut{.builder = SegmentBuilder(options_, first),
                     .name = {first, first + rows_of_cut()},
                     .next = first,
                     .made = {}});
  }
  if (cut_->made.valid()) return absl::OkStatus();
  std::vector<uint64_t> keys(static_cast<size_t>(options_.banding.bands));
  for (; most != 0 && cut_->next < cut_->name.end; ++cut_->next, --most) {
    const Row row = index.row(cut_->next);
    if (row.slices != nullptr) index.band_keys(row.slices, keys.data());
    cut_->builder.add(row, keys.data());
  }
  if (cut_->next == cut_->name.end)
    cut_->made = std::async(segments_.merge_on, [this, cut = &*cut_] { return write(*cut); });
  return absl::OkStatus();
}

// Reads the prints from bodies, because the table of prints drops those of dead originals, and cannot list
// those of one original.
void OldOriginals::add_prints(Cut& cut) const {
  PodVector<uint64_t> prints;
  std::string buffer;
  for (uint64_t ordinal = 0; ordinal < cut.builder.rows(); ++ordinal) {
    const Row row = cut.builder.row(ordinal);
    if (row.slices == nullptr) continue;
    if (absl::Status read = read_prints(bodies_, row.body, buffer, prints); read.ok()) {
      cut.builder.add_prints(ordinal, prints);
    } else {
      cut.unread = cut.name.first + ordinal;
      cut.why_unread = std::move(read);
    }
  }
}

OldOriginals::Made OldOriginals::write(Cut& cut) const {
  if (options_.track_prints) add_prints(cut);
  ASSIGN_OR_RETURN(const std::unique_ptr<SegmentBeingWritten> out, segments_.store->create(cut.name));
  RETURN_IF_ERROR(cut.builder.write(kFilterColumns, *out));
  RETURN_IF_ERROR(out->finish());
  return opened(cut.name);
}

absl::Status OldOriginals::take_cut(CandidateIndex& index) {
  Made made = cut_->made.get();
  const Cut cut = *std::exchange(cut_, std::nullopt);
  const SegmentName& name = cut.name;
  RETURN_IF_ERROR(made.status());
  const Seq lowest = index.lowest_live();
  if (cut.unread && *cut.unread >= lowest) return cut.why_unread;
  if (lowest >= name.end) {  // all have expired meanwhile
    segments_.store->remove(name);
    return absl::OkStatus();
  }
  const bool oldest = set_.size() == 0;
  if (oldest) set_.start_at(name.first);
  set_.add(*std::move(made));
  if (oldest) set_.expire_below(lowest);
  for (Seq seq = lowest; seq < name.end; ++seq)
    if (!index.live(seq)) set_.remove(seq);
  index.expire_below(name.end);
  if (!merge_) begin_merge();
  return merge_ && set_.size() > kWaitingMost ? take_merge() : absl::OkStatus();
}

void OldOriginals::expire_below(Seq seq) {
  std::vector<SegmentName> before;
  before.reserve(set_.size());
  for (size_t s = 0; s < set_.size(); ++s) before.push_back(name_of(set_.segment(s)));
  set_.expire_below(seq);
  before.resize(before.size() - set_.size());
  for (const SegmentName& name : before) segments_.store->remove(name);
}

uint64_t OldOriginals::rows_of_cut() const {
  return std::clamp<uint64_t>(segments_.young / 4, 1, SegmentBuilder::rows_most(options_));
}

int OldOriginals::level(uint64_t rows) const {
  int level = 0;
  for (uint64_t most = rows_of_cut(); rows > most; most *= kMerged) ++level;
  return level;
}

void OldOriginals::begin_merge() {
  for (size_t end = kMerged; end <= set_.size(); ++end) {
    const int last = level(set_.segment(end - 1).header().rows);
    uint64_t rows = 0;
    bool same = true;
    for (size_t s = end - kMerged; s < end; ++s) {
      same = same && level(set_.segment(s).header().rows) == last;
      rows += set_.segment(s).header().rows;
    }
    if (!same || rows > kSegmentRowsMax) continue;
    merge_.emplace();
    for (size_t s = end - kMerged; s < end; ++s) merge_->parts.push_back(set_.shared(s));
    merge_->name = {merge_->parts.front()->first(), merge_->parts.back()->end()};
    merge_->made = std::async(segments_.merge_on, [this, m = &*merge_] { return merge(*m); });
    return;
  }
}

OldOriginals::Made OldOriginals::merge(const Merge& merge) const {
  std::vector<const Segment*> parts;
  parts.reserve(merge.parts.size());
  for (const auto& part : merge.parts) parts.push_back(part.get());
  ASSIGN_OR_RETURN(const std::unique_ptr<SegmentBeingWritten> out, segments_.store->create(merge.name));
  RETURN_IF_ERROR(merge_segments(options_, parts, kFilterColumns, *out));
  RETURN_IF_ERROR(out->finish());
  return opened(merge.name);
}

absl::Status OldOriginals::take_merge() {
  Made merged = merge_->made.get();
  const Merge done = *std::exchange(merge_, std::nullopt);
  if (!merged.ok()) {
    log::warn("segments were not merged", {{"why", std_sv(merged.status().message())}});
    return absl::OkStatus();
  }
  size_t first = 0;
  while (first < set_.size() && set_.segment(first).first() != done.name.first) ++first;
  if (first == set_.size()) {  // a part has expired meanwhile
    segments_.store->remove(done.name);
    return absl::OkStatus();
  }
  set_.replace(first, done.parts.size(), *std::move(merged));
  for (const auto& part : done.parts) segments_.store->remove(name_of(*part));
  begin_merge();
  return absl::OkStatus();
}

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

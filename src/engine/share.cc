#include "engine/share.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/check.h"

namespace doppel {
namespace {

constexpr size_t kShared = 64;  // a second thread does not pay off for fewer rows

}  // namespace

Share::Share(const Rule& rule, ShardSet shards, const CandidateIndexOptions& options, const Bodies& bodies,
             Matcher::PayloadOf payload_of, const SegmentOptions& segments)
    : shards_(std::move(shards)),
      index_(options, segments, bodies),
      matcher_(rule, shards_, index_, bodies, std::move(payload_of)) {}

void Share::apply_deaths(const Resolved& batch, size_t first) {
  for (size_t i = first; i < batch.removed.size(); ++i) {
    const Seq seq = batch.removed[i].seq;
    // The batch's own originals are not inserted yet.
    if (shards_.owns(seq) && shards_.local(seq) < index_.next_seq()) index_.remove(shards_.local(seq));
  }
  expire_below(batch.lowest_live);
}

void Share::expire_below(Seq seq) {
  const Seq local = std::min(shards_.local(seq), index_.next_seq());
  if (local > index_.lowest_live()) index_.expire_below(local);
}

absl::Status Share::room_for(size_t rows) const {
  const uint64_t most = index_.options().rows_max;
  const CandidateIndex& young = index_.young();
  if (young.next_seq() + rows - young.lowest_live() <= most) return absl::OkStatus();
  return absl::ResourceExhaustedError(
      "the index is full: each of its shards (" + std::to_string(shards_.of()) + ") takes " +
      std::to_string(most) +
      " originals, counted from the oldest live one to the newest; start with more `shards`, or set "
      "max_documents, max_memory or expire_after");
}

absl::Status Share::apply(const Resolved& batch, std::span<const Row> rows, const uint64_t* band_keys,
                          int parts, const CandidateIndex::Run& run) {
  const Seq first = index_.next_seq();
  const bool few = rows.size() < kShared || parts < 2;
  index_.young().insert(rows, band_keys, few ? 1 : parts, few ? CandidateIndex::Run() : run);
  DOPPEL_CHECK(index_.next_seq() == first + rows.size(), "the index has taken all new originals", first,
               rows.size(), index_.next_seq());
  apply_deaths(batch, 0);
  ++cut_;
  return index_.tidy();
}

}  // namespace doppel

#include "minhash.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <cmath>

#include "base/status.h"
#include "engine/engine.h"
#include "sketch/fast_rounds.h"

namespace doppel::python {
namespace {

constexpr size_t kWaitingMost = 4096;
constexpr HashKey kDatasketch{0x64617461736b6574, 0x63682d6c696b6521};

HashKey key_of(uint64_t seed) {
  return {kDatasketch.derive("seed low", seed), kDatasketch.derive("seed high", seed)};
}

}  // namespace

SketchKind::SketchKind(uint64_t s, int num_perm)
    : seed(s), key(key_of(s)), sketcher(SketchFamily::fast, num_perm, key) {
  salt = key.derive("element");
}

MinHash::MinHash(std::shared_ptr<const SketchKind> kind)
    : kind_(std::move(kind)), slots_(static_cast<size_t>(kind_->sketcher.num_perm()), kEmptySlot) {}

void MinHash::update(std::string_view element) {
  waiting_.push_back(XXH3_64bits_withSeed(element.data(), element.size(), kind_->salt));
  if (waiting_.size() >= kWaitingMost) slots();
}

const std::vector<uint64_t>& MinHash::slots() {
  if (!waiting_.empty()) kind_->sketcher.update(slots_.data(), waiting_);
  waiting_.clear();
  return slots_;
}

void MinHash::merge(MinHash& other) {
  slots();
  kind_->sketcher.merge(slots_.data(), other.slots().data());
}

double MinHash::jaccard(MinHash& other) {
  if (empty() || other.empty()) return empty() && other.empty() ? 1 : 0;
  return estimate_jaccard(slots().data(), other.slots().data(), kind_->sketcher.num_perm());
}

// In each of the first k rounds, each element falls into one of k slots. So with n elements a slot waits
// for its first one about as long as an exponential time of rate n / k, in rounds. Waits are cut off at k
// rounds. The most likely rate of such censored times is events / exposure.
double MinHash::count() {
  const double k = kind_->sketcher.num_perm();
  if (empty()) return 0;
  double events = 0, exposure = 0;
  for (const uint64_t slot : slots()) {
    const double waited = std::ldexp(static_cast<double>(slot), -kRankBits);  // rounds, with a fraction
    exposure += std::min(waited, k);
    events += waited < k ? 1 : 0;
  }
  return events * k / exposure;
}

absl::StatusOr<std::unique_ptr<MinHashIndex>> MinHashIndex::create(double threshold, double recall,
                                                                   int num_perm, int bands, int rows) {
  ASSIGN_OR_RETURN(const Rule rule, make_rule(threshold, recall, num_perm, bands, rows));
  return std::unique_ptr<MinHashIndex>(new MinHashIndex(
      {.num_perm = num_perm, .banding = rule.banding, .min_equal = rule.min_equal, .key = kDatasketch}));
}

MinHashIndex::MinHashIndex(const CandidateIndexOptions& options)
    : index_(options), all_bands_((options.banding.bands + 31) / 32, ~0u) {
  if (options.banding.bands % 32 != 0) all_bands_.back() = (1u << (options.banding.bands % 32)) - 1;
}

void MinHashIndex::prepare(const std::vector<uint64_t>& slots, uint8_t* slices, uint64_t* keys) const {
  for (size_t i = 0; i < slots.size(); ++i) slices[i] = static_cast<uint8_t>(slots[i]);
  index_.band_keys(slices, keys);
}

Seq MinHashIndex::insert(const std::vector<uint64_t>& slots) {
  const Seq number = index_.next_seq();
  std::vector<uint8_t> slices(slots.size());
  std::vector<uint64_t> keys(static_cast<size_t>(banding().bands));
  prepare(slots, slices.data(), keys.data());
  Row row{.slices = slices.data(), .mask = all_bands_.data()};
  row.digest = {number, 0};  // unused here, but always different
  index_.insert(std::span(&row, 1), keys.data());
  return number;
}

std::vector<std::pair<Seq, double>> MinHashIndex::query(const std::vector<uint64_t>& slots) const {
  std::vector<uint8_t> slices(slots.size());
  std::vector<uint64_t> keys(static_cast<size_t>(banding().bands));
  prepare(slots, slices.data(), keys.data());
  const Query query{.slices = slices.data(), .band_keys = keys.data(), .digest = {~0ull, ~0ull}};
  Found found;
  index_.lookup(std::span(&query, 1), std::span(&found, 1));
  std::vector<std::pair<Seq, double>> out;
  for (const Candidate& candidate : found.candidates) {
    const Overlap overlap = overlap_from_slices(candidate.equal, num_perm());
    out.emplace_back(candidate.seq, static_cast<double>(overlap.inter) / static_cast<double>(overlap.uni));
  }
  return out;
}

std::vector<absl::flat_hash_map<uint64_t, uint64_t>> MinHashIndex::counts() const {
  std::vector<absl::flat_hash_map<uint64_t, uint64_t>> out(static_cast<size_t>(banding().bands));
  std::vector<uint64_t> keys(out.size());
  for (Seq seq = index_.lowest_live(); seq < index_.next_seq(); ++seq) {
    if (!index_.live(seq)) continue;
    index_.band_keys(index_.row(seq).slices, keys.data());
    for (size_t band = 0; band < out.size(); ++band) ++out[band][keys[band]];
  }
  return out;
}

}  // namespace doppel::python

#pragma once
// The slow rule for many documents: gives the same results, but looks documents up instead of reading them
// all. It compares every find in full, so collisions of hashes do not matter.

#include <string_view>
#include <unordered_map>
#include <vector>

#include "engine/slow_engine.h"

namespace doppel::testing {

class IndexedEngine : public SlowEngine {
 public:
  using SlowEngine::SlowEngine;

 private:
  using Places = std::unordered_multimap<uint64_t, Seq>;

  const Entry* with_payload(const Digest& payload) const override {
    return first(payloads_, payload, &Entry::payload);
  }
  const Entry* with_digest(const Digest& digest) const override {
    return first(digests_, digest, &Entry::digest);
  }
  std::vector<const Entry*> listed_like(const Entry& d, int band) const override {
    std::vector<const Entry*> out;
    const auto [begin, end] = bands_.equal_range(band_hash(d, band));
    for (auto it = begin; it != end; ++it) {
      const Entry& r = entries_[it->second];
      if (r.listed(band) && same_key(d, r, band)) out.push_back(&r);
    }
    return out;
  }

  void added(const Entry& last) override {
    digests_.emplace(last.digest.low, last.seq);
    if (last.payload != Digest()) payloads_.emplace(last.payload.low, last.seq);
    for (const int band : last.bands) bands_.emplace(band_hash(last, band), last.seq);
  }

  const Entry* first(const Places& places, const Digest& wanted, Digest Entry::* field) const {
    const Entry* out = nullptr;
    const auto [begin, end] = places.equal_range(wanted.low);
    for (auto it = begin; it != end; ++it) {
      const Entry& r = entries_[it->second];
      if (r.live && r.*field == wanted && (out == nullptr || r.seq < out->seq)) out = &r;
    }
    return out;
  }

  uint64_t band_hash(const Entry& d, int band) const {
    const auto rows = static_cast<size_t>(options_.rule.banding.rows);
    const std::string_view key(
        reinterpret_cast<const char*>(d.slices.data()) + static_cast<size_t>(band) * rows, rows);
    return std::hash<std::string_view>()(key) * 0x9e3779b97f4a7c15 + static_cast<uint64_t>(band);
  }

  Places digests_, payloads_, bands_;
};

}  // namespace doppel::testing

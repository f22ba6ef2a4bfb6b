#pragma once
// One table from keys to ordinals.

#include <cstdint>

#include "absl/container/flat_hash_map.h"
#include "absl/container/inlined_vector.h"
#include "base/pod_vector.h"

namespace doppel {

inline constexpr int kOrdinalBits = 28;
inline constexpr uint32_t kOrdinalMask = (uint32_t{1} << kOrdinalBits) - 1;

class SlotTable {
 public:
  void prefetch(uint64_t) const {}
  void find(uint64_t h, PodVector<uint32_t>& out) const {
    auto it = map_.find(h);
    if (it != map_.end()) out.insert(out.end(), it->second.begin(), it->second.end());
  }
  void insert(uint64_t h, uint32_t ordinal) {
    map_[h].push_back(ordinal);
    ++entries_;
  }
  uint64_t entries() const { return entries_; }
  uint64_t bytes() const { return map_.capacity() * 25; }
  double load() const { return map_.load_factor(); }

 private:
  absl::flat_hash_map<uint64_t, absl::InlinedVector<uint32_t, 2>> map_;
  uint64_t entries_ = 0;
};

}  // namespace doppel

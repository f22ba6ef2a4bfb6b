#pragma once
// The index in its simplest form: a vector of rows; every lookup goes through all of them.

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>
#include <vector>

#include "index/index.h"

namespace doppel {

class ReferenceIndex {
 public:
  struct StoredRow {
    std::vector<uint8_t> slices;  // empty: none
    Digest digest;
    uint64_t id_tag = 0;
    uint32_t payload = 0;
    BodyRef body;
    std::vector<uint32_t> mask;
    bool removed = false;
  };

  explicit ReferenceIndex(const CandidateIndexOptions& options) : options_(options) {}

  void start_at(Seq seq) { first_ = low_ = seq; }
  Seq next_seq() const { return first_ + rows_.size(); }
  Seq lowest_live() const { return low_; }
  bool live(Seq seq) const { return seq >= low_ && seq < next_seq() && !rows_[seq - first_].removed; }
  const StoredRow& row(Seq seq) const { return rows_[seq - first_]; }
  void insert(StoredRow row) { rows_.push_back(std::move(row)); }
  bool remove(Seq seq) {
    if (!live(seq)) return false;
    rows_[seq - first_].removed = true;
    return true;
  }
  void expire_below(Seq seq) { low_ = std::max(low_, std::min(seq, next_seq())); }

  Found lookup(const uint8_t* slices, const Digest& digest) const {
    Found found;
    std::map<int, int> counts;
    for (Seq seq = low_; seq < next_seq(); ++seq) {
      if (!live(seq)) continue;
      const StoredRow& r = row(seq);
      if (r.digest == digest && !found.exact) found.exact = seq;
      if (slices == nullptr || r.slices.empty()) continue;
      bool meets = false;
      for (int j = 0; j < options_.banding.bands; ++j) {
        if (!listed_with(r, j, slices)) continue;
        meets = true;
        ++counts[j];
      }
      int equal = 0;
      for (size_t i = 0; i < r.slices.size(); ++i) equal += r.slices[i] == slices[i] ? 1 : 0;
      if (meets && equal >= options_.min_equal) found.candidates.push_back({seq, equal});
    }
    std::sort(found.candidates.begin(), found.candidates.end(), [](const Candidate& a, const Candidate& b) {
      return a.equal != b.equal ? a.equal > b.equal : a.seq < b.seq;
    });
    for (auto [band, n] : counts)
      found.counts.push_back({static_cast<uint16_t>(band), static_cast<uint16_t>(n)});
    return found;
  }

  int count_listed(int band, const uint8_t* slices) const {
    int count = 0;
    for (Seq seq = low_; seq < next_seq(); ++seq) {
      if (live(seq) && !row(seq).slices.empty() && listed_with(row(seq), band, slices)) ++count;
    }
    return count;
  }

  std::vector<Seq> find_id(uint64_t id_tag) const { return find(&StoredRow::id_tag, id_tag); }
  std::vector<Seq> find_payload(uint32_t payload) const { return find(&StoredRow::payload, payload); }

 private:
  // Zero is no name.
  template <typename Name>
  std::vector<Seq> find(Name StoredRow::* member, Name name) const {
    std::vector<Seq> found;
    for (Seq seq = low_; seq < next_seq(); ++seq) {
      if (live(seq) && name != 0 && row(seq).*member == name) found.push_back(seq);
    }
    return found;
  }
  bool listed_with(const StoredRow& r, int band, const uint8_t* slices) const {
    const int rows = options_.banding.rows;
    return (r.mask[static_cast<size_t>(band / 32)] >> (band % 32) & 1) != 0 &&
           std::memcmp(r.slices.data() + band * rows, slices + band * rows, static_cast<size_t>(rows)) == 0;
  }

  CandidateIndexOptions options_;
  std::vector<StoredRow> rows_;
  Seq first_ = 0;
  Seq low_ = 0;
};

}  // namespace doppel

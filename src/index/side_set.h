#pragma once
// Entries of a band table that stand in no bucket: what found all buckets near its home full, and what many
// equals stand at home of. One sorted run for every 128 buckets of a layout: an insert costs about one fresh
// line, and growth and cleaning find what belongs to a range of homes.

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <span>
#include <vector>

#include "index/fetch.h"

namespace doppel {

class SideSet {
 public:
  struct Entry {
    uint64_t h;
    uint32_t ordinal;
    bool operator<(const Entry& other) const { return h != other.h ? h < other.h : ordinal < other.ordinal; }
  };
  using Run = std::vector<Entry>;  // sorted

  SideSet() = default;
  explicit SideSet(uint64_t buckets) : runs_(buckets / kSpan + 1) {}

  // Of the entries at home in this bucket and its neighbours: those of a group always stand together.
  Run& run(uint64_t home) { return runs_[home / kSpan]; }
  const Run& run(uint64_t home) const { return runs_[home / kSpan]; }
  static bool same_run(uint64_t home, uint64_t other) { return home / kSpan == other / kSpan; }

  // All entries of this hash; its home must be given.
  std::span<const Entry> equals(uint64_t home, uint64_t h) const {
    const Run& r = run(home);
    const auto first = std::lower_bound(r.begin(), r.end(), Entry{h, 0});
    auto last = first;
    while (last != r.end() && last->h == h) ++last;
    return {first, last};
  }
  void insert(uint64_t home, Entry entry) {
    Run& r = run(home);
    r.insert(std::upper_bound(r.begin(), r.end(), entry), entry);
  }
  // Entries in order, all of the run of this home.
  void insert(uint64_t home, std::span<const Entry> entries) {
    Run& r = run(home);
    Run merged;
    merged.reserve(r.size() + entries.size());
    std::merge(entries.begin(), entries.end(), r.begin(), r.end(), std::back_inserter(merged));
    r.swap(merged);
  }

  void prefetch(uint64_t home) const {
    const Run& r = run(home);
    for (size_t at = 0; at < std::min<size_t>(r.size(), 16); at += 4) fetch(r.data() + at);
  }

  uint64_t bytes() const { return runs_.size() * sizeof(Run); }  // without the entries

 private:
  static constexpr uint64_t kSpan = 128;
  std::vector<Run> runs_;
};

}  // namespace doppel

#pragma once
// Entries of a table that are in no line: those that found home and overflow line full, and those that have
// many equals at home. One sorted run for every four groups: an insert costs one or two fresh lines, and
// growth finds what belongs to a group.

#include <algorithm>
#include <cstdint>
#include <deque>
#include <span>
#include <vector>

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
  explicit SideSet(uint64_t groups) { cover(groups); }
  // There is a run for each group below this from now on.
  void cover(uint64_t groups) {
    while (runs_.size() * kSpan < groups) runs_.emplace_back();
  }

  // Of the entries at home in this group: those of a group are always together.
  Run& run(uint64_t group) { return runs_[group / kSpan]; }
  const Run& run(uint64_t group) const { return runs_[group / kSpan]; }

  // All entries of this hash.
  static std::span<const Entry> equals(const Run& run, uint64_t h) {
    const auto first = std::lower_bound(run.begin(), run.end(), Entry{h, 0});
    auto last = first;
    while (last != run.end() && last->h == h) ++last;
    return {first, last};
  }
  static void insert(Run& run, Entry entry) {
    run.insert(std::upper_bound(run.begin(), run.end(), entry), entry);
  }
  const std::deque<Run>& runs() const { return runs_; }

  uint64_t bytes() const { return runs_.size() * sizeof(Run); }  // without the entries

 private:
  static constexpr uint64_t kSpan = 4;
  std::deque<Run> runs_;  // which takes one more without a look at the others
};

}  // namespace doppel

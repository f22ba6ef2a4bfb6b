#pragma once
// Entries of a table that are in no line, because home and overflow line are full, or because the home has
// many equal ones. Four groups share a sorted run, so an insert touches one or two cache lines, and growth
// finds the entries of a group.

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
  // Makes sure that each group below `groups` has a run.
  void cover(uint64_t groups) {
    while (runs_.size() * kSpan < groups) runs_.emplace_back();
  }

  // The run with the entries of this group; entries of a group are contiguous.
  Run& run(uint64_t group) { return runs_[group / kSpan]; }
  const Run& run(uint64_t group) const { return runs_[group / kSpan]; }

  // All entries with this hash.
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
  std::deque<Run> runs_;  // a deque grows without moving its elements
};

}  // namespace doppel

#pragma once
// Finds the most frequent keys of a stream in bounded memory (Space-Saving; Metwally, Agrawal, El Abbadi
// 2005). A new key replaces the least frequent one and inherits its count. Every key that occurs more than
// total / size times is included. A count is too high by at most `error`, and never too low.

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"

namespace doppel {

template <typename Key>
class HeavyHitters {
 public:
  struct Entry {
    Key key{};
    uint64_t count = 0, error = 0;
    std::string note;  // for the caller; kept as long as the key
  };

  explicit HeavyHitters(size_t size) : size_(size) {}

  // Counts the key and returns its entry. The note is empty if the key is new.
  Entry& add(const Key& key, uint64_t times = 1) {
    total_ += times;
    const auto found = places_.find(key);
    if (found != places_.end()) {
      counts_[found->second] += times;
      Entry& entry = entries_[found->second];
      entry.count += times;
      return entry;
    }
    if (entries_.size() < size_) {
      places_.emplace(key, entries_.size());
      counts_.push_back(times);
      return entries_.emplace_back(Entry{.key = key, .count = times});
    }
    const size_t least = find_least();
    Entry& entry = entries_[least];
    places_.erase(entry.key);
    places_.emplace(key, least);
    entry.key = key;
    entry.error = entry.count;
    entry.note.clear();
    entry.count += times;
    counts_[least] += times;
    return entry;
  }

  // Returns the `n` most frequent keys, the most frequent first.
  std::vector<Entry> top(size_t n) const {
    std::vector<Entry> out = entries_;
    n = std::min(n, out.size());
    std::partial_sort(out.begin(), out.begin() + static_cast<ptrdiff_t>(n), out.end(),
                      [](const Entry& a, const Entry& b) {
                        return a.count != b.count ? a.count > b.count : a.error < b.error;
                      });
    out.resize(n);
    return out;
  }
  uint64_t total() const { return total_; }

 private:
  // Counts only grow. So the search for the least one continues where the last one ended, as long as an entry
  // has that count.
  size_t find_least() {
    for (; next_ < counts_.size(); ++next_) {
      if (counts_[next_] == least_) return next_;
    }
    next_ = 0;
    least_ = *std::min_element(counts_.begin(), counts_.end());
    while (counts_[next_] != least_) ++next_;
    return next_;
  }

  const size_t size_;
  uint64_t total_ = 0;
  std::vector<Entry> entries_;
  std::vector<uint64_t> counts_;  // counts of entries_, contiguous for the search
  uint64_t least_ = 0;            // the least count, once all entries are used
  size_t next_ = 0;               // entries before this one have larger counts
  absl::flat_hash_map<Key, size_t> places_;
};

}  // namespace doppel

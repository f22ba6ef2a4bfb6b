#pragma once
// The most frequent keys of a stream, in bounded memory (Space-Saving; Metwally, Agrawal, El Abbadi 2005): a
// new key takes the place of the least frequent one and its count. Every key that occurs more than total /
// size times is there; a count is too high by `error` at most, and never too low.

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
    std::string note;  // of the caller; kept while the key is
  };

  explicit HeavyHitters(size_t size) : size_(size) {}

  // The entry of the key; its note is empty if it is new.
  Entry& add(const Key& key) {
    ++total_;
    const auto found = places_.find(key);
    if (found != places_.end()) {
      ++counts_[found->second];
      Entry& entry = entries_[found->second];
      ++entry.count;
      return entry;
    }
    if (entries_.size() < size_) {
      places_.emplace(key, entries_.size());
      counts_.push_back(1);
      return entries_.emplace_back(Entry{.key = key, .count = 1});
    }
    const size_t least =
        static_cast<size_t>(std::min_element(counts_.begin(), counts_.end()) - counts_.begin());
    Entry& entry = entries_[least];
    places_.erase(entry.key);
    places_.emplace(key, least);
    entry.key = key;
    entry.error = entry.count;
    entry.note.clear();
    ++entry.count;
    ++counts_[least];
    return entry;
  }

  // The most frequent first.
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
  const size_t size_;
  uint64_t total_ = 0;
  std::vector<Entry> entries_;
  std::vector<uint64_t> counts_;  // of the entries, side by side: the least one is looked for
  absl::flat_hash_map<Key, size_t> places_;
};

}  // namespace doppel

#pragma once
// Groups captures with the same payload, as events connect them, and finds the earliest one of each group.
// Events call the capture that was read first an original; the events of several runs need not agree.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/container/flat_hash_map.h"

namespace doppel {

class PayloadGroups {
 public:
  using Key = uint64_t;  // identifies a capture
  // The time of the capture, in milliseconds; nullopt if unknown.
  struct Capture {
    Key key = 0;
    std::optional<int64_t> time_ms;
  };

  void tie(const Capture& copy, const Capture& original);

  // Returns the earliest capture of the group of `of`; among equals, the one that was an original first.
  // Unknown times are later than all others.
  Key earliest(Key of);

 private:
  struct Node {
    size_t above;
    Capture earliest;  // the earliest of the group; valid in the root only
  };
  size_t node(const Capture& capture);
  size_t top(size_t node);

  absl::flat_hash_map<Key, size_t> by_key_;
  std::vector<Node> nodes_;
};

}  // namespace doppel

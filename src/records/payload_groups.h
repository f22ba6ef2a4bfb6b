#pragma once
// Captures with the same payload, as events tie them together, and which of them is the earliest. Events call
// the capture an original that was read first, and those of several runs need not agree.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/container/flat_hash_map.h"

namespace doppel {

class PayloadGroups {
 public:
  using Key = uint64_t;  // of a capture
  // When it was captured, in milliseconds; nothing: it cannot be said.
  struct Capture {
    Key key = 0;
    std::optional<int64_t> time_ms;
  };

  void tie(const Capture& copy, const Capture& original);

  // Of all captures that are tied to this one; of several the one that was an original first. What cannot be
  // said is later than all else.
  Key earliest(Key of);

 private:
  struct Node {
    size_t above;
    Capture earliest;  // of all below, where there is none above
  };
  size_t node(const Capture& capture);
  size_t top(size_t node);

  absl::flat_hash_map<Key, size_t> by_key_;
  std::vector<Node> nodes_;
};

}  // namespace doppel

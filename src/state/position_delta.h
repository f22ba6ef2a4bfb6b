#pragma once
// What changed in a position since the previous commit. Positions of files grow with the number of files,
// but two successive ones differ only at their ends. So a commit stores the difference.
//
//   new = before[0, front) + middle + before[size - back - 4, size - 4) + tail
//
// A position may end with a checksum. So its last four bytes (`tail`) are always written, and only the
// bytes before them are compared. In the journal: varint front, string middle, varint back, string tail.

#include <cstdint>
#include <string>
#include <string_view>

#include "base/bytes.h"

namespace doppel {

struct PositionDelta {
  uint64_t front = 0;  // bytes kept at the beginning
  std::string middle;
  uint64_t back = 0;  // bytes kept at the end, before the last four
  std::string tail;   // at most four bytes
  bool operator==(const PositionDelta&) const = default;
};

PositionDelta delta_of(std::string_view before, std::string_view after);
void put_delta(std::string& out, const PositionDelta& delta);
PositionDelta take_delta(ByteReader& in);

// Returns false if the delta does not match a position of this length. Otherwise sets `length` to the length
// of the new position.
bool fits(const PositionDelta& delta, uint64_t& length);
// Takes time in proportion to the delta and its back, not to the position. The delta must fit.
void apply(const PositionDelta& delta, std::string& position);

}  // namespace doppel

#pragma once
// What changed of a position since the commit before. Positions of files grow with the number of files, and
// two successive ones share all but their ends: a commit holds the difference.
//
//   new = before[0, front) + middle + before[size - back - 4, size - 4) + tail
//
// A position may end with a checksum: the last four bytes (`tail`) are always written, and what is in front
// of them is compared. In the journal: varint front, string middle, varint back, string tail.

#include <cstdint>
#include <string>
#include <string_view>

#include "base/bytes.h"

namespace doppel {

struct PositionDelta {
  uint64_t front = 0;  // bytes that are kept at the beginning
  std::string middle;
  uint64_t back = 0;  // bytes that are kept at the end, in front of the last four
  std::string tail;   // at most four
  bool operator==(const PositionDelta&) const = default;
};

PositionDelta delta_of(std::string_view before, std::string_view after);
void put_delta(std::string& out, const PositionDelta& delta);
PositionDelta take_delta(ByteReader& in);

// False if it does not belong to a position of this length. Else `length` becomes that of the new one.
bool fits(const PositionDelta& delta, uint64_t& length);
// Costs what the delta and its back are long, not what the position is. The delta fits.
void apply(const PositionDelta& delta, std::string& position);

}  // namespace doppel

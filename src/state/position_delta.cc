#include "state/position_delta.h"

#include <algorithm>

#include "base/check.h"

namespace doppel {
namespace {

constexpr size_t kTail = 4;
constexpr size_t kBlock = 4096;  // bytes per comparison

size_t body_size(uint64_t size) { return size - std::min<uint64_t>(size, kTail); }

size_t common_front(std::string_view a, std::string_view b) {
  const size_t most = std::min(a.size(), b.size());
  size_t at = 0;
  while (most - at >= kBlock && std::memcmp(a.data() + at, b.data() + at, kBlock) == 0) at += kBlock;
  while (at < most && a[at] == b[at]) ++at;
  return at;
}

size_t common_back(std::string_view a, std::string_view b) {
  const size_t most = std::min(a.size(), b.size());
  size_t n = 0;
  while (n < most && a[a.size() - 1 - n] == b[b.size() - 1 - n]) ++n;
  return n;
}

}  // namespace

PositionDelta delta_of(std::string_view before, std::string_view after) {
  const std::string_view old = before.substr(0, body_size(before.size()));
  const std::string_view now = after.substr(0, body_size(after.size()));
  PositionDelta delta;
  delta.front = common_front(old, now);
  delta.back = common_back(old.substr(delta.front), now.substr(delta.front));
  delta.middle = now.substr(delta.front, now.size() - delta.front - delta.back);
  delta.tail = after.substr(now.size());
  return delta;
}

void put_delta(std::string& out, const PositionDelta& delta) {
  put_varint(out, delta.front);
  put_string(out, delta.middle);
  put_varint(out, delta.back);
  put_string(out, delta.tail);
}

PositionDelta take_delta(ByteReader& in) {
  PositionDelta delta;
  delta.front = in.varint();
  delta.middle = in.string();
  delta.back = in.varint();
  delta.tail = in.string();
  return delta;
}

bool fits(const PositionDelta& delta, uint64_t& length) {
  const uint64_t body = body_size(length);
  if (delta.front > body || delta.back > body - delta.front || delta.tail.size() > kTail) return false;
  length = delta.front + delta.middle.size() + delta.back + delta.tail.size();
  return true;
}

void apply(const PositionDelta& delta, std::string& position) {
  const size_t body = body_size(position.size());
  DOPPEL_CHECK(delta.front + delta.back <= body, "a delta fits its position", delta.front, delta.back, body);
  position.resize(body);
  position.replace(delta.front, body - delta.back - delta.front, delta.middle);
  position.append(delta.tail);
}

}  // namespace doppel

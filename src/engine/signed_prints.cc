#include "engine/signed_prints.h"

#include <algorithm>
#include <bit>

#include "absl/container/flat_hash_map.h"
#include "base/bytes.h"
#include "base/check.h"
#include "base/reason.h"
#include "base/status.h"
#include "sketch/compact_set.h"

namespace doppel {
namespace {

constexpr uint16_t kStored = 0x8000;
static_assert(kPrintBits <= 47);

int bits_of_ranks(const CompactSet& set) { return std::bit_width(set.values.size() - 1); }

}  // namespace

void put_signed_prints(std::string& out, const SignedDocument& document) {
  thread_local CompactSet set;
  const absl::Status decoded = decode_compact_set(document.coded_set, set);
  DOPPEL_CHECK(decoded.ok() && !set.values.empty(), "prints are of a text whose set was coded",
               document.coded_set.size());
  put_varint(out, document.tops.size());
  const int bits = bits_of_ranks(set);
  uint64_t waiting = 0;
  int count = 0;
  for (const uint32_t top : document.tops) {
    const uint32_t value = top >> (32 - set.bits);
    const auto at = std::lower_bound(set.values.begin(), set.values.end(), value);
    waiting |= static_cast<uint64_t>(at - set.values.begin()) << count;
    for (count += bits; count >= 8; count -= 8) {
      out.push_back(static_cast<char>(waiting));
      waiting >>= 8;
    }
  }
  if (count > 0) out.push_back(static_cast<char>(waiting));
  put_varint(out, document.prints.size());
  uint32_t before = 0;
  for (const Print& print : document.prints) {
    put_varint(out, print.position - before);
    before = print.position;
    put_fixed(out, static_cast<uint32_t>(print.key));
    put_fixed(out, static_cast<uint16_t>(print.key >> 32 | (print.stored ? kStored : 0)));
  }
}

absl::Status take_signed_prints(std::string_view bytes, SignedDocument& document) {
  const auto impossible = [] {
    return rejected(Reason::bad_signed_record, " with prints that do not fit to its set");
  };
  thread_local CompactSet set;
  if (!decode_compact_set(document.coded_set, set).ok() || set.values.empty()) return impossible();
  ByteReader in(bytes);
  const uint64_t n = in.varint();
  const auto bits = static_cast<uint64_t>(bits_of_ranks(set));
  // If the set has one value, a rank takes no bits. So this limit bounds the number of shingles.
  constexpr uint64_t kShinglesMost = uint64_t{1} << 26;
  if (!in.ok() || n > kShinglesMost || n * bits > 8 * in.rest().size()) return impossible();
  const std::string_view ranks = in.rest().substr(0, (n * bits + 7) / 8);
  document.tops.resize(n);
  uint64_t waiting = 0;
  uint64_t count = 0;
  size_t next = 0;
  for (uint64_t i = 0; i < n; ++i) {
    for (; count < bits; count += 8) waiting |= uint64_t{static_cast<uint8_t>(ranks[next++])} << count;
    const uint64_t rank = waiting & ((uint64_t{1} << bits) - 1);
    waiting >>= bits;
    count -= bits;
    if (rank >= set.values.size()) return impossible();
    document.tops[i] = set.values[rank] << (32 - set.bits);
  }
  ByteReader rest(in.rest().substr(ranks.size()));
  const uint64_t prints = rest.varint();
  if (!rest.ok() || prints > n) return impossible();
  absl::flat_hash_map<uint64_t, uint32_t> numbers;
  uint64_t position = 0;
  document.prints.clear();
  for (uint64_t i = 0; i < prints; ++i) {
    const uint64_t step = rest.varint();
    position += step;
    const uint64_t low = rest.fixed<uint32_t>();
    const auto high = rest.fixed<uint16_t>();
    const uint64_t key = low | uint64_t{static_cast<uint16_t>(high & ~kStored)} << 32;
    if (!rest.ok() || step > n || position >= n || (i != 0 && step == 0) || low == 0 ||
        key >> kPrintBits != 0)
      return impossible();
    const auto number = numbers.try_emplace(key, static_cast<uint32_t>(numbers.size())).first->second;
    document.prints.push_back({.key = key,
                               .position = static_cast<uint32_t>(position),
                               .number = number,
                               .stored = (high & kStored) != 0});
  }
  return rest.done() ? absl::OkStatus() : impossible();
}

}  // namespace doppel

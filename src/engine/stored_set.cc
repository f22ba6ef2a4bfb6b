#include "engine/stored_set.h"

#include <algorithm>

#include "base/bytes.h"
#include "base/status.h"
#include "sketch/prints.h"

namespace doppel {

static_assert(kPrintBits <= 8 * kStoredPrintBytes);

void append_prints(std::span<uint64_t> prints, std::string& coded_set) {
  if (coded_set.empty()) return;
  std::sort(prints.begin(), prints.end());
  const size_t start = coded_set.size();
  coded_set.resize(start + prints.size() * kStoredPrintBytes + sizeof(uint32_t));
  char* out = coded_set.data() + start;
  for (const uint64_t print : prints) {
    store(out, static_cast<uint32_t>(print));
    store(out + sizeof(uint32_t), static_cast<uint16_t>(print >> 32));
    out += kStoredPrintBytes;
  }
  store(out, static_cast<uint32_t>(prints.size()));
}

absl::StatusOr<std::string_view> split_stored_set(std::string_view stored, bool with_prints,
                                                  PodVector<uint64_t>* prints) {
  if (prints != nullptr) prints->clear();
  if (!with_prints || stored.empty()) return stored;
  const auto damaged = [] { return absl::DataLossError("an original's set lacks its prints"); };
  if (stored.size() < sizeof(uint32_t)) return damaged();
  const auto count = load<uint32_t>(stored.data() + stored.size() - sizeof(uint32_t));
  const uint64_t bytes = uint64_t{count} * kStoredPrintBytes + sizeof(uint32_t);
  if (bytes > stored.size()) return damaged();
  const std::string_view set = stored.substr(0, stored.size() - bytes);
  if (prints == nullptr) return set;
  ByteReader in(stored.substr(set.size()));
  uint64_t before = 0;
  for (uint32_t i = 0; i < count; ++i) {
    const uint64_t low = in.fixed<uint32_t>();
    const uint64_t print = low | uint64_t{in.fixed<uint16_t>()} << 32;
    if (print >> kPrintBits != 0 || low == 0 || (i != 0 && print <= before)) return damaged();
    prints->push_back(print);
    before = print;
  }
  return set;
}

absl::Status read_prints(const Bodies& bodies, BodyRef ref, std::string& buffer,
                         PodVector<uint64_t>& prints) {
  ASSIGN_OR_RETURN(const Body body, bodies.read(ref, buffer));
  return split_stored_set(body.coded_set, true, &prints).status();
}

}  // namespace doppel

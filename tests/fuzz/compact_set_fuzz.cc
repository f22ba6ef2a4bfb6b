// Any bytes: decoding must return an error or a valid set, which encoding and decoding keep. Also with a
// right checksum in front, because no fuzzer guesses one.

#include <cstdint>
#include <cstdlib>
#include <string>

#include "base/bytes.h"
#include "base/checksums.h"
#include "sketch/compact_set.h"

namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

void check(std::string_view coded) {
  using namespace doppel;
  CompactSet set;
  if (!decode_compact_set(coded, set).ok()) {
    require(set.values.empty() && set.bits == 0);
    return;
  }
  require(set.values.size() <= 8 * coded.size());
  require(set.bits >= (set.values.empty() ? 0 : 1) && set.bits <= 32);
  for (size_t i = 0; i < set.values.size(); ++i) {
    require(uint64_t{set.values[i]} >> set.bits == 0);
    require(i == 0 || set.values[i - 1] < set.values[i]);
  }
  std::string again;
  encode_compact_set(set, again);
  CompactSet back;
  require(decode_compact_set(again, back).ok() && back.bits == set.bits && back.values == set.values);
  require(overlap(set, back) == Overlap{set.values.size(), set.values.size()});
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string bytes(reinterpret_cast<const char*>(data), size);
  check(bytes);
  std::string signed_bytes(sizeof(uint32_t), '\0');
  signed_bytes += bytes;
  doppel::store(signed_bytes.data(), doppel::crc32c(bytes));
  check(signed_bytes);
  return 0;
}

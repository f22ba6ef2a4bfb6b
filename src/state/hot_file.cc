#include "state/hot_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/bytes.h"
#include "base/check.h"
#include "base/crc32c.h"
#include "base/pod_vector.h"
#include "base/status.h"

namespace doppel {
namespace {

constexpr size_t kFixedBytes = 48;
constexpr uint32_t kHasSlices = 1;
constexpr int kOffsetBits = 40;

}  // namespace

HotFormat::HotFormat(int num_perm, int mask_words, const Epoch& epoch)
    : num_perm_(static_cast<size_t>(num_perm)),
      mask_words_(static_cast<size_t>(mask_words)),
      row_bytes_((kFixedBytes + 4 * mask_words_ + num_perm_ + 3) / 4 * 4),
      epoch_crc_(crc32c({reinterpret_cast<const char*>(epoch.data()), epoch.size()})) {}

uint32_t HotFormat::seed(Seq seq) const {
  char number[sizeof seq];
  store(number, seq);
  return crc32c({number, sizeof number}, epoch_crc_);
}

void HotFormat::append(const StoredRow& stored, std::string& out) const {
  const Row& row = stored.row;
  DOPPEL_CHECK(row.body.offset >> kOffsetBits == 0 && row.body.size >> (64 - kOffsetBits) == 0,
               "offset and length of a body fit into its row", stored.seq, row.body.offset, row.body.size);
  DOPPEL_CHECK(row.payload >> kPayloadBits == 0, "the bits of a payload fit into its row", stored.seq,
               row.payload);
  const size_t start = out.size();
  out.resize(start + row_bytes_);  // zeros
  char* p = out.data() + start;
  store(p + 4, (row.slices != nullptr ? kHasSlices : 0) | row.payload << 1);
  store(p + 8, row.body.offset | uint64_t{row.body.size} << kOffsetBits);
  store(p + 16, row.id_tag);
  store(p + 24, stored.trusted_ms);
  store(p + 32, row.digest.low);
  store(p + 40, row.digest.high);
  if (row.slices != nullptr) {
    if (row.mask != nullptr) std::memcpy(p + kFixedBytes, row.mask, 4 * mask_words_);
    std::memcpy(p + kFixedBytes + 4 * mask_words_, row.slices, num_perm_);
  }
  store(p, crc32c({p + 4, row_bytes_ - 4}, seed(stored.seq)));
}

bool HotFormat::decode(Seq seq, const char* bytes, StoredRow& stored) const {
  if (load<uint32_t>(bytes) != crc32c({bytes + 4, row_bytes_ - 4}, seed(seq))) return false;
  stored.seq = seq;
  stored.trusted_ms = load<int64_t>(bytes + 24);
  Row& row = stored.row;
  const auto body = load<uint64_t>(bytes + 8);
  row.body.offset = body & ((uint64_t{1} << kOffsetBits) - 1);
  row.body.size = static_cast<uint32_t>(body >> kOffsetBits);
  row.id_tag = load<uint64_t>(bytes + 16);
  row.payload = load<uint32_t>(bytes + 4) >> 1;
  row.digest.low = load<uint64_t>(bytes + 32);
  row.digest.high = load<uint64_t>(bytes + 40);
  row.mask = reinterpret_cast<const uint32_t*>(bytes + kFixedBytes);
  row.slices = nullptr;
  if ((load<uint32_t>(bytes + 4) & kHasSlices) != 0) {
    row.slices = reinterpret_cast<const uint8_t*>(bytes + kFixedBytes + 4 * mask_words_);
  }
  return true;
}

absl::Status HotFormat::scan(const File& file, Seq from, Seq to,
                             const std::function<void(StoredRow&)>& visit) const {
  const uint64_t rows_per_block = std::max<uint64_t>(1, (4 << 20) / row_bytes_);
  PodVector<char> block(std::min(rows_per_block, to - from) * row_bytes_);
  for (Seq first = from; first < to; first += rows_per_block) {
    const uint64_t rows = std::min(rows_per_block, to - first);
    RETURN_IF_ERROR(file.read_at(offset(first), block.data(), rows * row_bytes_));
    for (uint64_t i = 0; i < rows; ++i) {
      StoredRow stored;
      if (!decode(first + i, block.data() + i * row_bytes_, stored)) {
        return absl::DataLossError(fmt::format(
            "{}: row {} at offset {} is damaged (its checksum does not fit); restore the directory from "
            "a copy, or start a new one",
            file.path(), first + i, offset(first + i)));
      }
      visit(stored);
    }
  }
  return absl::OkStatus();
}

}  // namespace doppel

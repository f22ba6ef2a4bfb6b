#include "files/warc/large_record.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/status.h"
#include "formats/warc/payload_digest.h"

namespace doppel {
namespace {

constexpr size_t kPiece = 1 << 20;

class SpilledBytes final : public PieceReader {
 public:
  SpilledBytes(std::unique_ptr<Spill> spill, uint64_t bytes) : spill_(std::move(spill)), bytes_(bytes) {}

  absl::StatusOr<std::string_view> next() override {
    piece_.resize(std::min<uint64_t>(kPiece, bytes_ - at_));
    if (piece_.empty()) return std::string_view();
    ssize_t got = 0;
    do got = ::pread(spill_->fd(), piece_.data(), piece_.size(), static_cast<off_t>(at_));
    while (got < 0 && errno == EINTR);
    if (got < 0) return io_error("a temporary file cannot be read");
    if (got == 0) return absl::DataLossError("a temporary file has become shorter");
    at_ += static_cast<uint64_t>(got);
    return std::string_view(piece_).substr(0, static_cast<size_t>(got));
  }

 private:
  std::unique_ptr<Spill> spill_;
  uint64_t bytes_, at_ = 0;
  std::string piece_;
};

}  // namespace

LargeRecord::LargeRecord(const WarcRecord& record, const std::string& directory) {
  const std::optional<size_t> begin = payload_begin(record);
  if (begin && sha1_of_header(record.payload_digest).empty()) {
    payload_.emplace();
    payload_->update(record.block.substr(*begin));
  }
  if (directory.empty()) return;
  absl::StatusOr<Spill> spill = Spill::open(directory);
  if (spill.ok()) {
    spill_ = std::make_unique<Spill>(*std::move(spill));
  } else {
    missing_ = std_sv(spill.status().message());
  }
}

void LargeRecord::add(std::string_view bytes) {
  if (payload_) payload_->update(bytes);
  if (spill_ == nullptr) return;
  bytes_ += bytes.size();
  const absl::StatusOr<uint64_t> place = spill_->append(bytes);
  if (place.ok()) return;
  missing_ = std_sv(place.status().message());
  spill_.reset();
}

std::shared_ptr<const RecordRest> LargeRecord::finish(bool whole) {
  auto rest = std::make_shared<RecordRest>();
  if (payload_ && whole) rest->payload_digest = payload_digest(*payload_);
  if (!whole) missing_ = "its end cannot be read";
  if (spill_ != nullptr && whole) {
    rest->bytes = std::make_shared<SpilledBytes>(std::move(spill_), bytes_);
  } else {
    rest->missing = missing_;
  }
  return rest;
}

}  // namespace doppel

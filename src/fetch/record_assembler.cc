#include "fetch/record_assembler.h"

#define ZLIB_CONST
#include <fmt/format.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <utility>

#include "base/status.h"
#include "formats/record.h"
#include "formats/warc/warc.h"

namespace doppel {
namespace {

constexpr size_t kStep = 64 << 10;
constexpr uint64_t kBeginning = 64 << 10;  // of a block that is too large

}  // namespace

struct RecordAssembler::Unpacker {
  z_stream z = {};
  bool inflating = false;
  ZSTD_DCtx* zst = nullptr;
  bool done = false;
  ~Unpacker() {
    if (inflating) inflateEnd(&z);
    ZSTD_freeDCtx(zst);
  }
};

RecordAssembler::RecordAssembler(uint64_t max_bytes)
    : max_bytes_(max_bytes), unpacker_(std::make_unique<Unpacker>()) {}
RecordAssembler::~RecordAssembler() = default;

absl::StatusOr<bool> RecordAssembler::feed(std::string_view bytes) {
  std::string both;
  if (kind_ == Kind::unknown) {
    first_.append(bytes);
    if (first_.size() < 5) return false;
    if (first_.starts_with("\x1f\x8b")) {
      kind_ = Kind::gz;
      unpacker_->inflating = inflateInit2(&unpacker_->z, 15 + 16) == Z_OK;
    } else if (first_.starts_with("\x28\xb5\x2f\xfd")) {
      kind_ = Kind::zst;
      unpacker_->zst = ZSTD_createDCtx();
    } else if (first_.starts_with("WARC/")) {
      kind_ = Kind::plain;
    } else {
      return absl::DataLossError("no WARC record begins at this offset");
    }
    both = std::move(first_);
    bytes = both;
  }
  // In steps, because a small compressed piece may decompress to much more than the record.
  for (size_t at = 0; at < bytes.size(); at += kStep) {
    RETURN_IF_ERROR(unpack(bytes.substr(at, kStep)));
    ASSIGN_OR_RETURN(bool complete, look());
    if (complete) return true;
    if (unpacker_->done) return absl::DataLossError("the packed member ends within the record");
  }
  return false;
}

absl::Status RecordAssembler::unpack(std::string_view bytes) {
  const uint64_t most = std::max<uint64_t>(wanted_, kMaxWarcHead + kStep);
  if (kind_ == Kind::plain) {
    record_.append(bytes);
    return absl::OkStatus();
  }
  auto enough = [&] { return record_.size() >= std::max(most, wanted_) && wanted_ != 0; };
  if (kind_ == Kind::gz) {
    z_stream& z = unpacker_->z;
    z.next_in = reinterpret_cast<const Bytef*>(bytes.data());
    z.avail_in = static_cast<uInt>(bytes.size());
    while (!unpacker_->done && !enough()) {
      const size_t before = record_.size();
      record_.resize(before + kStep);
      z.next_out = reinterpret_cast<Bytef*>(record_.data() + before);
      z.avail_out = kStep;
      const int result = inflate(&z, Z_NO_FLUSH);
      record_.resize(before + kStep - z.avail_out);
      if (result == Z_STREAM_END)
        unpacker_->done = true;
      else if (result != Z_OK && result != Z_BUF_ERROR)
        return absl::DataLossError("damaged gz data");
      if (wanted_ == 0) {
        ASSIGN_OR_RETURN(bool complete, look());
        if (complete) return absl::OkStatus();
      }
      if (z.avail_in == 0 && z.avail_out > 0) break;
    }
    return absl::OkStatus();
  }
  ZSTD_inBuffer input{bytes.data(), bytes.size(), 0};
  while (!unpacker_->done && !enough()) {
    const size_t before = record_.size();
    record_.resize(before + kStep);
    ZSTD_outBuffer output{record_.data() + before, kStep, 0};
    const size_t result = ZSTD_decompressStream(unpacker_->zst, &output, &input);
    record_.resize(before + output.pos);
    if (ZSTD_isError(result)) return absl::DataLossError("damaged zst data");
    if (result == 0) unpacker_->done = true;
    if (wanted_ == 0) {
      ASSIGN_OR_RETURN(bool complete, look());
      if (complete) return absl::OkStatus();
    }
    if (input.pos == input.size && output.pos < kStep) break;
  }
  return absl::OkStatus();
}

absl::StatusOr<bool> RecordAssembler::look() {
  if (wanted_ == 0) {
    if (!has_warc_head(record_)) {
      if (record_.size() > kMaxWarcHead) return absl::DataLossError("the head of the record has no end");
      return false;
    }
    absl::StatusOr<WarcRecord> head = parse_warc_record(record_);
    if (!head.ok()) return absl::DataLossError(head.status().message());
    wanted_ = head->head_bytes +
              (head->content_length > max_bytes_ ? std::min(kBeginning, max_bytes_) : head->content_length);
  }
  return record_.size() >= wanted_;
}

absl::Status RecordAssembler::end() const {
  if (wanted_ != 0 && record_.size() >= wanted_) return absl::OkStatus();
  return absl::DataLossError(
      fmt::format("the file ends within the record, {} bytes of which were read", record_.size()));
}

std::string RecordAssembler::take() {
  std::string out = std::move(record_);
  out.resize(wanted_);
  out.reserve(wanted_ + kRecordPadding);
  return out;
}

}  // namespace doppel

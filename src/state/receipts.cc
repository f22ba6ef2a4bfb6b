#include "state/receipts.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "absl/hash/hash.h"
#include "base/bytes.h"
#include "base/checksums.h"
#include "base/status.h"

namespace doppel {
namespace {

constexpr std::string_view kNames[] = {"receipts", "receipts.1"};
constexpr size_t kFrameBytes = 8;
constexpr size_t kWindowBytes = 4 << 20;

uint64_t hash_of(std::string_view id, const Digest& digest) {
  return absl::HashOf(absl_sv(id), digest.low, digest.high);
}

// The checksum of a frame, whose second field is left out.
uint32_t crc_of(std::string_view frame, uint32_t seed) {
  return crc32c(frame.substr(kFrameBytes), crc32c(frame.substr(0, 4), seed));
}

bool parse(std::string_view payload, Receipts::Receipt& out) {
  ByteReader in(payload);
  out.number = in.varint();
  const uint64_t original = in.varint();
  out.original = original == 0 ? std::nullopt : std::optional<Seq>(original - 1);
  out.digest = take_digest(in);
  out.id = in.string();
  out.text = in.string();
  return in.done();
}

// Reads the frames of a file from front to back.
class Frames {
 public:
  Frames(const File& file, uint64_t size, uint32_t seed) : file_(file), size_(size), seed_(seed) {}

  // The frame at `offset`; empty if there is none, or it does not match.
  absl::StatusOr<std::string_view> at(uint64_t offset) {
    ASSIGN_OR_RETURN(const std::string_view head, bytes(offset, kFrameBytes));
    if (head.empty()) return head;
    const uint64_t whole = kFrameBytes + uint64_t{load<uint32_t>(head.data())};
    ASSIGN_OR_RETURN(const std::string_view frame, bytes(offset, whole));
    return !frame.empty() && load<uint32_t>(frame.data() + 4) == crc_of(frame, seed_) ? frame
                                                                                      : std::string_view();
  }

 private:
  absl::StatusOr<std::string_view> bytes(uint64_t offset, uint64_t n) {
    if (offset + n > size_) return std::string_view();
    if (offset < begin_ || offset + n > begin_ + window_.size()) {
      window_.resize(std::min<uint64_t>(std::max<uint64_t>(n, kWindowBytes), size_ - offset));
      begin_ = offset;
      RETURN_IF_ERROR(file_.read_at(offset, window_.data(), window_.size()));
    }
    return std::string_view(window_).substr(offset - begin_, n);
  }

  const File& file_;
  const uint64_t size_;
  const uint32_t seed_;
  uint64_t begin_ = 0;
  std::string window_;
};

}  // namespace

Receipts::Receipts(std::string directory, const Epoch& epoch, uint64_t most)
    : directory_(std::move(directory)),
      epoch_(epoch),
      seed_(crc32c({reinterpret_cast<const char*>(epoch.data()), epoch.size()})),
      most_(most) {}

absl::StatusOr<std::unique_ptr<Receipts>> Receipts::open(std::string directory, const Epoch& epoch,
                                                         uint64_t documents, std::vector<std::string>& notes,
                                                         uint64_t most) {
  std::unique_ptr<Receipts> out(new Receipts(std::move(directory), epoch, most));
  // The older one first, so that newer answers replace its own.
  for (const int part : {1, 0}) {
    const std::string path = join(out->directory_, kNames[part]);
    if (exists(path)) RETURN_IF_ERROR(out->read(part, path, documents, notes));
  }
  return out;
}

absl::Status Receipts::read(int part, const std::string& path, uint64_t documents,
                            std::vector<std::string>& notes) {
  ASSIGN_OR_RETURN(File file, File::open(path, O_RDWR));
  const absl::StatusOr<FileHeader> header = read_header(file, FileKind::receipts);
  const std::string consequence =
      "documents that are sent a second time may be judged again, and get another answer";
  if (!header.ok() || header->epoch != epoch_) {
    const std::string aside = path + ".damaged";
    notes.push_back(fmt::format(
        "{}; it is now {}, and {}",
        header.ok() ? path + ": belongs to another index" : std::string(std_sv(header.status().message())),
        aside, consequence));
    return file.rename_to(aside);
  }
  ASSIGN_OR_RETURN(const uint64_t size, file.size());
  Part& to = parts_[part];
  to.end = kFileHeaderBytes;
  Frames frames(file, size, seed_);
  uint64_t next = 0;  // the least number that may follow
  while (to.end < size) {
    ASSIGN_OR_RETURN(const std::string_view frame, frames.at(to.end));
    Receipt answer;
    if (frame.empty() || !parse(frame.substr(kFrameBytes), answer) || answer.number < next) {
      notes.push_back(
          fmt::format("{}: damaged, or not written completely, at byte {}; the {} bytes from there on are "
                      "cut off, and {}",
                      path, to.end, size - to.end, consequence));
      break;
    }
    if (answer.number >= documents) break;  // was not committed
    places_[hash_of(answer.id, answer.digest)] = {.offset = to.end, .part = static_cast<uint64_t>(part)};
    next = answer.number + 1;
    to.end += frame.size();
    ++to.count;
  }
  if (to.end < size) RETURN_IF_ERROR(file.cut(to.end));
  to.file = std::move(file);
  return absl::OkStatus();
}

absl::StatusOr<std::optional<Receipts::Receipt>> Receipts::find(std::string_view id, const Digest& digest) {
  const auto found = places_.find(hash_of(id, digest));
  if (found == places_.end()) return std::nullopt;
  const File& file = *parts_[found->second.part].file;
  const uint64_t offset = found->second.offset;
  const auto damaged = [&] {
    return absl::DataLossError(fmt::format("{}: damaged at byte {}", file.path(), offset));
  };
  buffer_.resize(kFrameBytes);
  RETURN_IF_ERROR(file.read_at(offset, buffer_.data(), kFrameBytes));
  const uint64_t whole = kFrameBytes + uint64_t{load<uint32_t>(buffer_.data())};
  if (offset + whole > parts_[found->second.part].end) return damaged();
  buffer_.resize(whole);
  RETURN_IF_ERROR(file.read_at(offset, buffer_.data(), whole));
  Receipt out;
  if (load<uint32_t>(buffer_.data() + 4) != crc_of(buffer_, seed_) ||
      !parse(std::string_view(buffer_).substr(kFrameBytes), out))
    return damaged();
  if (out.id != id || out.digest != digest) return std::nullopt;
  return out;
}

absl::Status Receipts::add(const std::vector<Receipt>& receipts, bool to_disk) {
  if (receipts.empty()) return absl::OkStatus();
  if (!parts_[now_].file || parts_[now_].count >= most_) RETURN_IF_ERROR(begin_file());
  Part& to = parts_[now_];
  std::string bytes, payload;
  std::vector<uint64_t> offsets;
  offsets.reserve(receipts.size());
  for (const Receipt& receipt : receipts) {
    payload.clear();
    put_varint(payload, receipt.number);
    put_varint(payload, receipt.original ? *receipt.original + 1 : 0);
    put_digest(payload, receipt.digest);
    put_string(payload, receipt.id);
    put_string(payload, receipt.text);
    const size_t begin = bytes.size();
    offsets.push_back(to.end + begin);
    put_fixed(bytes, static_cast<uint32_t>(payload.size()));
    put_fixed(bytes, uint32_t{0});
    bytes += payload;
    store(bytes.data() + begin + 4, crc_of(std::string_view(bytes).substr(begin), seed_));
  }
  RETURN_IF_ERROR(to.file->write_at(to.end, bytes));
  for (size_t i = 0; i < receipts.size(); ++i) {
    places_[hash_of(receipts[i].id, receipts[i].digest)] = {.offset = offsets[i],
                                                            .part = static_cast<uint64_t>(now_)};
  }
  to.end += bytes.size();
  to.count += receipts.size();
  return to_disk ? sync() : absl::OkStatus();
}

absl::Status Receipts::begin_file() {
  if (parts_[now_].file) {
    RETURN_IF_ERROR(parts_[now_].file->sync());
    RETURN_IF_ERROR(parts_[now_].file->rename_to(join(directory_, kNames[1])));
    now_ = 1 - now_;
    absl::erase_if(places_,
                   [&](const auto& place) { return place.second.part == static_cast<uint64_t>(now_); });
    parts_[now_] = {};
  }
  Part& to = parts_[now_];
  ASSIGN_OR_RETURN(to.file, File::open(join(directory_, kNames[0]), O_RDWR | O_CREAT | O_TRUNC));
  RETURN_IF_ERROR(to.file->write_at(
      0, encode_header({.kind = FileKind::receipts, .version = kStateVersion, .epoch = epoch_})));
  to.end = kFileHeaderBytes;
  return sync_directory(directory_);
}

absl::Status Receipts::sync() { return parts_[now_].file ? parts_[now_].file->sync() : absl::OkStatus(); }

}  // namespace doppel

#include "state/columns.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <mutex>

#include "base/bytes.h"
#include "base/check.h"
#include "base/checksums.h"
#include "base/status.h"
#include "state/state_dir.h"

namespace doppel {
namespace {

std::string magic(FileKind kind) { return {'d', 'o', 'p', 'p', 'e', 'l', static_cast<char>(kind), '\n'}; }

uint32_t newest(FileKind kind) { return kind == FileKind::journal ? kJournalVersion : kStateVersion; }

}  // namespace

absl::StatusOr<Epoch> make_epoch() {
  Epoch epoch;
  RETURN_IF_ERROR(random_bytes(epoch.data(), epoch.size()));
  epoch[6] = static_cast<uint8_t>((epoch[6] & 0x0f) | 0x40);
  epoch[8] = static_cast<uint8_t>((epoch[8] & 0x3f) | 0x80);
  return epoch;
}

std::string epoch_string(const Epoch& epoch) {
  std::string out;
  for (size_t i = 0; i < epoch.size(); ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) out += '-';
    out += fmt::format("{:02x}", epoch[i]);
  }
  return out;
}

std::string encode_header(const FileHeader& header) {
  std::string out = magic(header.kind);
  put_fixed(out, newest(header.kind));
  put_fixed(out, header.num_perm);
  put_fixed(out, header.mask_words);
  out.append(header.epoch.begin(), header.epoch.end());
  put_fixed(out, uint64_t{0});
  put_fixed(out, crc32c(out));
  return out;
}

absl::StatusOr<FileHeader> read_header(const File& file, FileKind kind) {
  ASSIGN_OR_RETURN(const uint64_t size, file.size());
  std::string bytes(std::min<uint64_t>(size, kFileHeaderBytes), '\0');
  RETURN_IF_ERROR(file.read_at(0, bytes.data(), bytes.size()));
  if (bytes.substr(0, 8) != magic(kind)) {
    return absl::DataLossError(fmt::format(
        "{}: this is not a state file of doppel (its first bytes differ), or it was damaged at offset 0; "
        "restore it, or use another state directory",
        file.path()));
  }
  if (bytes.size() < kFileHeaderBytes) {
    return absl::DataLossError(
        fmt::format("{}: ends at offset {}, within its header of {} bytes; restore it, or use "
                    "another state directory",
                    file.path(), size, kFileHeaderBytes));
  }
  ByteReader reader(std::string_view(bytes).substr(8));
  const auto version = reader.fixed<uint32_t>();
  // Check the version first: other versions may store the checksum elsewhere. If ours is right, the file is
  // not damaged.
  if (version < kStateVersion || version > newest(kind)) {
    const std::string_view all = bytes;
    const bool fits =
        load<uint32_t>(bytes.data() + kFileHeaderBytes - 4) == crc32c(all.substr(0, kFileHeaderBytes - 4));
    return absl::Status(
        fits ? absl::StatusCode::kFailedPrecondition : absl::StatusCode::kDataLoss,
        fmt::format("{}: written in version {} of the format, this program reads version {}; use the program "
                    "that wrote it, or a "
                    "new state directory",
                    file.path(), version, newest(kind)));
  }
  FileHeader header{.kind = kind, .version = version};
  header.num_perm = reader.fixed<uint32_t>();
  header.mask_words = reader.fixed<uint32_t>();
  const std::string_view epoch = reader.bytes(header.epoch.size());
  std::copy(epoch.begin(), epoch.end(), header.epoch.begin());
  reader.fixed<uint64_t>();
  if (reader.fixed<uint32_t>() != crc32c(std::string_view(bytes).substr(0, kFileHeaderBytes - 4))) {
    return absl::DataLossError(
        fmt::format("{}: the header at offset 0 is damaged (its checksum does not fit); "
                    "restore the file, or use another state directory",
                    file.path()));
  }
  return header;
}

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

namespace {

constexpr size_t kCrcBytes = 4;

uint32_t body_crc(uint64_t offset, std::string_view rest) {
  char bytes[sizeof offset];
  store(bytes, offset);
  return crc32c(rest, crc32c({bytes, sizeof bytes}));
}

}  // namespace

BodiesFile::BodiesFile(File file, uint64_t end) : file_(std::move(file)), flushed_(end), end_(end) {
  unflushed_.reserve(kBufferBytes + 4096);
}

absl::StatusOr<BodyRef> BodiesFile::append(const Body& body) {
  const size_t limit = kCrcBytes + 10 + body.metadata.size() + body.coded_set.size();
  if (limit >= kBodyBytesEnd) {
    return invalid(fmt::format("{}: a body of {} bytes: less than {} were expected", file_.path(), limit,
                               kBodyBytesEnd));
  }
  if (!unflushed_.empty() && unflushed_.size() + limit > kBufferBytes) RETURN_IF_ERROR(flush());
  const uint64_t offset = bytes();
  if (offset + limit > kOffsetEnd) {
    return absl::ResourceExhaustedError(
        fmt::format("{}: is full at {} bytes; start a new state directory", file_.path(), offset));
  }
  size_t size = 0;
  {
    const std::unique_lock lock(mutex_);
    const size_t start = unflushed_.size();
    put_fixed(unflushed_, uint32_t{0});
    put_string(unflushed_, body.metadata);
    unflushed_.append(body.coded_set);
    size = unflushed_.size() - start;
    char* p = unflushed_.data() + start;
    store(p, body_crc(offset, {p + kCrcBytes, size - kCrcBytes}));
  }
  DOPPEL_CHECK(size <= limit && offset + size <= kOffsetEnd, "a body is as long as was reckoned", size, limit,
               offset);
  end_.store(offset + size, std::memory_order_relaxed);
  return BodyRef{.offset = offset, .size = static_cast<uint32_t>(size)};
}

absl::StatusOr<Body> BodiesFile::read(BodyRef ref, std::string& buffer) const {
  if (ref.size == 0) return Body{};
  const uint64_t ref_end = ref.offset + ref.size;
  bool done = false;
  if (ref_end > flushed_.load(std::memory_order_acquire)) {
    const std::shared_lock lock(mutex_);
    // Check again: another flush may have ended while this thread waited for the lock.
    const uint64_t flushed = flushed_.load(std::memory_order_relaxed);
    if (ref.offset >= flushed) {
      if (ref_end - flushed > unflushed_.size()) {
        return absl::DataLossError(
            fmt::format("{}: no body of {} bytes at offset {}", file_.path(), ref.size, ref.offset));
      }
      buffer.assign(unflushed_, ref.offset - flushed, ref.size);
      done = true;
    }
  }
  if (!done) {
    buffer.resize(ref.size);
    RETURN_IF_ERROR(file_.read_at(ref.offset, buffer.data(), ref.size));
    reads_.fetch_add(1, std::memory_order_relaxed);
  }
  ByteReader reader(buffer);
  const auto crc = reader.fixed<uint32_t>();
  const bool fits = reader.ok() && crc == body_crc(ref.offset, reader.rest());
  Body body;
  body.metadata = reader.string();
  body.coded_set = reader.rest();
  if (!fits || !reader.ok()) {
    return absl::DataLossError(
        fmt::format("{}: the body of {} bytes at offset {} is damaged (its checksum does not fit)",
                    file_.path(), ref.size, ref.offset));
  }
  return body;
}

absl::Status BodiesFile::flush() {
  if (unflushed_.empty()) return absl::OkStatus();
  // Readers may read this memory in the meantime; only this thread changes it. After an error all of it is
  // still here, and the next flush() writes it to the same place.
  const uint64_t from = flushed_.load(std::memory_order_relaxed);
  DOPPEL_CHECK(from + unflushed_.size() == bytes(), "the lengths of bodies in the file and in memory add up",
               from, unflushed_.size(), bytes());
  RETURN_IF_ERROR(file_.write_at(from, unflushed_));
  crc_ = crc32c(unflushed_, crc_);
  const std::unique_lock lock(mutex_);
  flushed_.store(from + unflushed_.size(), std::memory_order_release);
  unflushed_.clear();
  return absl::OkStatus();
}

uint32_t BodiesFile::take_crc() { return std::exchange(crc_, 0); }

absl::StatusOr<std::unique_ptr<Bodies>> temporary_bodies(const std::string& directory) {
  const std::string place = temporary_place(directory);
  const std::string name = fmt::format("{} (temporary file)", place);
  int fd = ::open(place.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (fd < 0 && (errno == EOPNOTSUPP || errno == EISDIR ||
                 errno == EINVAL)) {  // not all file systems support O_TMPFILE
    std::string path = join(place, "doppel-bodies-XXXXXX");
    fd = ::mkostemp(path.data(), O_CLOEXEC);
    if (fd >= 0) ::unlink(path.c_str());
  }
  if (fd < 0) return io_error(fmt::format("{}: cannot be made", name));
  return std::make_unique<BodiesFile>(File(fd, name), 0);
}

}  // namespace doppel

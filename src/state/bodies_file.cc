#include "state/bodies_file.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <mutex>

#include "base/bytes.h"
#include "base/check.h"
#include "base/crc32c.h"
#include "base/status.h"
#include "state/state_dir.h"

namespace doppel {
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

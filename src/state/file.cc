#include "state/file.h"

#include <fmt/format.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <chrono>
#include <cstdlib>
#include <utility>

#include "base/bytes.h"
#include "base/checksums.h"
#include "base/clock.h"
#include "base/status.h"

namespace doppel {

File::File(File&& other) noexcept : fd_(std::exchange(other.fd_, -1)), path_(std::move(other.path_)) {}

File& File::operator=(File&& other) noexcept {
  std::swap(fd_, other.fd_);
  std::swap(path_, other.path_);
  return *this;
}

File::~File() {
  if (fd_ >= 0) ::close(fd_);
}

absl::StatusOr<File> File::open(const std::string& path, int flags, mode_t mode) {
  int fd = -1;
  do {
    fd = ::open(path.c_str(), flags | O_CLOEXEC, mode);
  } while (fd < 0 && errno == EINTR);
  if (fd < 0) return io_error(fmt::format("{}: cannot open", path));
  return File(fd, path);
}

absl::StatusOr<uint64_t> File::size() const {
  struct stat info{};
  if (::fstat(fd_, &info) != 0) return io_error(fmt::format("{}: fstat", path_));
  return static_cast<uint64_t>(info.st_size);
}

absl::Status File::read_at(uint64_t offset, void* out, size_t bytes) const {
  size_t done = 0;
  while (done < bytes) {
    const ssize_t n =
        ::pread(fd_, static_cast<char*>(out) + done, bytes - done, static_cast<off_t>(offset + done));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return io_error(fmt::format("{}: cannot read at offset {}", path_, offset + done));
    if (n == 0) {
      return absl::DataLossError(fmt::format("{}: ends at offset {}, {} bytes were expected at offset {}",
                                             path_, offset + done, bytes, offset));
    }
    done += static_cast<size_t>(n);
  }
  return absl::OkStatus();
}

void File::forget(uint64_t from, uint64_t to) const {
  ::posix_fadvise(fd_, static_cast<off_t>(from), static_cast<off_t>(to - from), POSIX_FADV_DONTNEED);
}

absl::Status File::write_at(uint64_t offset, std::string_view bytes) const {
  while (!bytes.empty()) {
    const ssize_t n = ::pwrite(fd_, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return io_error(fmt::format("{}: cannot write at offset {}", path_, offset));
    if (n == 0) return io_error(fmt::format("{}: cannot write at offset {}", path_, offset), EIO);
    offset += static_cast<uint64_t>(n);
    bytes.remove_prefix(static_cast<size_t>(n));
  }
  return absl::OkStatus();
}

absl::Status File::sync() const {
  while (::fdatasync(fd_) != 0) {
    if (errno != EINTR) return io_error(fmt::format("{}: cannot sync", path_));
  }
  return absl::OkStatus();
}

absl::Status File::cut(uint64_t length) const {
  while (::ftruncate(fd_, static_cast<off_t>(length)) != 0) {
    if (errno != EINTR) return io_error(fmt::format("{}: cannot cut to {} bytes", path_, length));
  }
  return absl::OkStatus();
}

void File::punch(uint64_t from, uint64_t to) const {
  constexpr uint64_t kBlock = 4096;  // only whole blocks can be freed
  from = (from + kBlock - 1) / kBlock * kBlock;
  to = to / kBlock * kBlock;
  if (from >= to) return;
  (void)::fallocate(fd_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(from),
                    static_cast<off_t>(to - from));
}

absl::Status File::rename_to(const std::string& path) {
  if (::rename(path_.c_str(), path.c_str()) != 0) {
    return io_error(fmt::format("{}: cannot rename to {}", path_, path));
  }
  path_ = path;
  return absl::OkStatus();
}

absl::Status write_durably(const std::string& path, std::string_view text, mode_t mode) {
  const std::string temporary = path + ".tmp";
  absl::Status status;
  {
    ASSIGN_OR_RETURN(File file, File::open(temporary, O_WRONLY | O_CREAT | O_TRUNC, mode));
    status = file.write_at(0, text);
    if (status.ok()) status = file.sync();
    if (status.ok()) status = file.rename_to(path);
  }
  if (!status.ok()) {
    ::unlink(temporary.c_str());
    return status;
  }
  const size_t slash = path.rfind('/');
  return sync_directory(slash == std::string::npos ? "." : path.substr(0, std::max<size_t>(slash, 1)));
}

absl::Status sync_directory(const std::string& path) {
  ASSIGN_OR_RETURN(const File directory, File::open(path, O_RDONLY | O_DIRECTORY));
  while (::fsync(directory.fd()) != 0) {
    if (errno == EINVAL) break;  // some file systems cannot sync directories
    if (errno != EINTR) return io_error(fmt::format("{}: cannot sync the directory", path));
  }
  return absl::OkStatus();
}

absl::Status make_directories(const std::string& path) {
  if (path.empty()) return invalid("the state directory has an empty name");
  for (size_t end = path.find('/', 1);; end = path.find('/', end + 1)) {
    const std::string part = path.substr(0, end);
    if (::mkdir(part.c_str(), 0700) != 0 && errno != EEXIST) {
      const int error = errno;
      if (!exists(part)) return io_error(fmt::format("{}: cannot make the directory", part), error);
    }
    if (end == std::string::npos) break;
  }
  struct stat info{};
  if (::stat(path.c_str(), &info) != 0) return io_error(fmt::format("{}: stat", path));
  if (!S_ISDIR(info.st_mode)) return io_error(path, ENOTDIR);
  return absl::OkStatus();
}

bool exists(const std::string& path) {
  struct stat info{};
  return ::stat(path.c_str(), &info) == 0;
}

std::string temporary_place(const std::string& configured) {
  if (!configured.empty()) return configured;
  const char* variable = std::getenv("TMPDIR");
  return variable != nullptr && *variable != '\0' ? variable : "/tmp";
}

std::string join(const std::string& directory, std::string_view name) {
  std::string path = directory;
  if (path.empty() || path.back() != '/') path += '/';
  return path.append(name);
}

absl::Status random_bytes(void* out, size_t bytes) {
  size_t done = 0;
  while (done < bytes) {
    const ssize_t n = ::getrandom(static_cast<char*>(out) + done, bytes - done, 0);
    if (n < 0 && errno != EINTR) return io_error("getrandom");
    if (n > 0) done += static_cast<size_t>(n);
  }
  return absl::OkStatus();
}

absl::StatusOr<uint32_t> crc_of_range(const File& file, uint64_t from, uint64_t to) {
  constexpr uint64_t kBlock = 1 << 20;
  PodVector<char> block(std::min(kBlock, to - from));
  uint32_t crc = 0;
  while (from < to) {
    const size_t n = std::min(kBlock, to - from);
    RETURN_IF_ERROR(file.read_at(from, block.data(), n));
    crc = crc32c({block.data(), n}, crc);
    from += n;
  }
  return crc;
}

namespace {

constexpr std::chrono::seconds kPatience(1);
constexpr std::chrono::milliseconds kLookEvery(10);

absl::Status take_lock(const File& file, int how) {
  const auto end = Clock::now() + kPatience;
  while (::flock(file.fd(), how | LOCK_NB) != 0) {
    if (errno == EINTR) continue;
    if (errno != EWOULDBLOCK) return io_error(fmt::format("{}: cannot lock", file.path()));
    if (Clock::now() < end) {
      Clock::sleep(kLookEvery);
      continue;
    }
    std::array<char, 16> pid{};
    const ssize_t n = ::pread(file.fd(), pid.data(), pid.size(), 0);
    std::string holder(pid.data(), n > 0 ? static_cast<size_t>(n) : 0);
    std::erase_if(holder, [](unsigned char c) { return std::isdigit(c) == 0; });
    return absl::UnavailableError(fmt::format("{}: the state directory is in use by process {}", file.path(),
                                              holder.empty() ? "(unknown)" : holder));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<File> lock_directory(const std::string& directory) {
  ASSIGN_OR_RETURN(File file, File::open(join(directory, "LOCK"), O_RDWR | O_CREAT));
  RETURN_IF_ERROR(take_lock(file, LOCK_EX));
  RETURN_IF_ERROR(file.cut(0));
  RETURN_IF_ERROR(file.write_at(0, fmt::format("{}\n", ::getpid())));
  return file;
}

absl::StatusOr<File> lock_to_read(const std::string& directory) {
  ASSIGN_OR_RETURN(File file, File::open(join(directory, "LOCK"), O_RDONLY));
  RETURN_IF_ERROR(take_lock(file, LOCK_SH));
  return file;
}

bool directory_in_use(const std::string& directory) {
  const absl::StatusOr<File> file = File::open(join(directory, "LOCK"), O_RDONLY);
  return file.ok() && ::flock(file->fd(), LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
}

}  // namespace doppel

#include "state/lock.h"

#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <chrono>

#include "base/clock.h"
#include "base/status.h"

namespace doppel {

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

#include "state/lock.h"

#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>

#include "base/status.h"

namespace doppel {

absl::StatusOr<File> lock_directory(const std::string& directory) {
  const std::string path = join(directory, "LOCK");
  ASSIGN_OR_RETURN(File file, File::open(path, O_RDWR | O_CREAT));
  while (::flock(file.fd(), LOCK_EX | LOCK_NB) != 0) {
    if (errno == EINTR) continue;
    if (errno != EWOULDBLOCK) return io_error(fmt::format("{}: cannot lock", path));
    std::array<char, 16> pid{};
    const ssize_t n = ::pread(file.fd(), pid.data(), pid.size(), 0);
    std::string holder(pid.data(), n > 0 ? static_cast<size_t>(n) : 0);
    std::erase_if(holder, [](unsigned char c) { return std::isdigit(c) == 0; });
    return absl::UnavailableError(fmt::format("{}: the state directory is in use by process {}", path,
                                              holder.empty() ? "(unknown)" : holder));
  }
  RETURN_IF_ERROR(file.cut(0));
  RETURN_IF_ERROR(file.write_at(0, fmt::format("{}\n", ::getpid())));
  return file;
}

bool directory_in_use(const std::string& directory) {
  const absl::StatusOr<File> file = File::open(join(directory, "LOCK"), O_RDONLY);
  return file.ok() && ::flock(file->fd(), LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
}

}  // namespace doppel

#include "files/spill.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <utility>

#include "base/status.h"

namespace doppel {
namespace {

constexpr size_t kCopied = 1 << 20;

}  // namespace

absl::StatusOr<Spill> Spill::open(const std::string& directory) {
  std::string name = directory + "/.doppel.XXXXXX";
  Spill out;
  out.fd_ = Fd(::mkostemp(name.data(), O_CLOEXEC));
  if (!out.fd_.ok() || ::unlink(name.c_str()) != 0) return io_error(directory);
  return out;
}

absl::StatusOr<uint64_t> Spill::append(std::string_view bytes) {
  for (size_t done = 0; done < bytes.size();) {
    const ssize_t n =
        ::pwrite(fd_.get(), bytes.data() + done, bytes.size() - done, static_cast<off_t>(end_ + done));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return io_error("a temporary file cannot be written");
    done += static_cast<size_t>(n);
  }
  return std::exchange(end_, end_ + bytes.size());
}

absl::Status copy_range(int fd, const std::string& name, uint64_t begin, uint64_t end, WholeOutput& out) {
  std::string buffer;
  while (begin < end) {
    buffer.resize(std::min<uint64_t>(kCopied, end - begin));
    const ssize_t got = ::pread(fd, buffer.data(), buffer.size(), static_cast<off_t>(begin));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return io_error(name);
    if (got == 0) return absl::DataLossError(absl_sv(fmt::format("{}: it has become shorter", name)));
    RETURN_IF_ERROR(out.append(std::string_view(buffer).substr(0, static_cast<size_t>(got))));
    begin += static_cast<uint64_t>(got);
  }
  return absl::OkStatus();
}

}  // namespace doppel

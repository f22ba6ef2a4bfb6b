// Bytes wait in memory until flush(): only committed records reach the file, and one write carries a whole
// batch.

#include "files/output_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include "base/check.h"
#include "base/standard_streams.h"
#include "base/status.h"
#include "files/fd.h"
#include "files/packer.h"

namespace doppel {

struct OutputFile::State {
  std::string path;
  Fd fd;
  std::string buffer;
  std::unique_ptr<Packer> packer;  // null: bytes are written uncompressed
  std::string packed;              // compressed form of what the buffer held
  uint64_t written = 0;
  bool in_member = false;  // stream() began a member that is still open
  bool regular = false;
  bool sync_directory = false;  // we created the file, and its name is not durable yet

  int number() const { return path == "-" ? STDOUT_FILENO : fd.get(); }
};

namespace {

std::string directory_of(const std::string& path) {
  size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

absl::Status cannot_open(const std::string& path) {
  int error = errno;
  struct stat info = {};
  std::string directory = directory_of(path);
  if (error == ENOENT && ::stat(directory.c_str(), &info) != 0) {
    return absl::NotFoundError(fmt::format("{}: the directory {} does not exist", path, directory));
  }
  return io_error(path, error);
}

Packing packing_of_path(std::string_view path) { return packing_of(path); }

bool is_missing(const std::string& path) {
  struct stat info = {};
  return ::stat(path.c_str(), &info) != 0 && errno == ENOENT;
}

}  // namespace

OutputFile::OutputFile(std::unique_ptr<State> state) : state_(std::move(state)) {}
OutputFile::~OutputFile() = default;

absl::StatusOr<std::unique_ptr<OutputFile>> OutputFile::open(const std::string& path) {
  return open(path, packing_of_path(path));
}

absl::StatusOr<std::unique_ptr<OutputFile>> OutputFile::open(const std::string& path, Packing packing) {
  auto state = std::make_unique<State>();
  state->path = path;
  state->packer = make_packer(packing);
  if (path != "-") {
    state->sync_directory = is_missing(path);
    state->fd = Fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
    if (!state->fd.ok()) return cannot_open(path);
  }
  struct stat info = {};
  if (::fstat(state->number(), &info) != 0) return io_error(path);
  state->regular = S_ISREG(info.st_mode);
  return std::unique_ptr<OutputFile>(new OutputFile(std::move(state)));
}

absl::StatusOr<std::unique_ptr<OutputFile>> OutputFile::resume(const std::string& path, uint64_t keep_bytes) {
  auto state = std::make_unique<State>();
  state->path = path;
  state->written = keep_bytes;
  state->packer = make_packer(packing_of_path(path));
  if (path != "-") {
    bool missing = is_missing(path);
    if (missing && keep_bytes > 0) {
      return absl::DataLossError(
          fmt::format("{}: the file is missing, but {} bytes of it were committed", path, keep_bytes));
    }
    state->sync_directory = missing;
    state->fd = Fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666));
    if (!state->fd.ok()) return cannot_open(path);
  }
  struct stat info = {};
  if (::fstat(state->number(), &info) != 0) return io_error(path);
  state->regular = S_ISREG(info.st_mode);
  if (path != "-" && state->regular) {
    auto size = static_cast<uint64_t>(info.st_size);
    if (size < keep_bytes) {
      return absl::DataLossError(
          fmt::format("{}: the file has {} bytes, but {} were committed", path, size, keep_bytes));
    }
    if (size > keep_bytes && ::ftruncate(state->fd.get(), static_cast<off_t>(keep_bytes)) != 0) {
      return io_error(fmt::format("{}: cannot be cut to {} bytes", path, keep_bytes));
    }
    if (::lseek(state->fd.get(), static_cast<off_t>(keep_bytes), SEEK_SET) < 0) return io_error(path);
  }
  return std::unique_ptr<OutputFile>(new OutputFile(std::move(state)));
}

void OutputFile::append(std::string_view bytes) { state_->buffer.append(bytes); }

absl::Status OutputFile::stream(std::string_view bytes) {
  State& s = *state_;
  s.buffer.append(bytes);
  if (s.packer == nullptr) return write();
  RETURN_IF_ERROR(s.packer->begin(s.buffer, s.packed));
  s.in_member = true;
  s.buffer.clear();
  return write();
}

absl::Status OutputFile::flush() {
  State& s = *state_;
  if (s.packer != nullptr && (!s.buffer.empty() || s.in_member)) {
    RETURN_IF_ERROR(s.packer->pack(s.buffer, s.packed));
    s.in_member = false;
    s.buffer.clear();
  }
  return write();
}

absl::Status OutputFile::write() {
  State& s = *state_;
  std::string& bytes = s.packer != nullptr ? s.packed : s.buffer;
  size_t done = 0;
  absl::Status status;
  while (done < bytes.size()) {
    ssize_t n = ::write(s.number(), bytes.data() + done, bytes.size() - done);
    if (n < 0) {
      if (errno == EINTR) continue;
      int error = errno;
      if (s.path == "-") note_stdout_error(error);
      status = io_error(
          fmt::format("{}: cannot write at byte {}", s.path == "-" ? "stdout" : s.path, s.written), error);
      break;
    }
    DOPPEL_CHECK(static_cast<size_t>(n) <= bytes.size() - done, "no more is written than there is",
                 std::string_view(s.path), n, bytes.size(), done);
    done += static_cast<size_t>(n);
    s.written += static_cast<uint64_t>(n);
  }
  bytes.erase(0, done);
  return status;
}

absl::Status OutputFile::finish() {
  State& s = *state_;
  if (s.packer != nullptr && length() == 0) RETURN_IF_ERROR(s.packer->pack({}, s.packed));
  return flush();
}

bool OutputFile::is_packed() const { return state_->packer != nullptr; }

absl::Status OutputFile::sync() {
  RETURN_IF_ERROR(flush());
  State& s = *state_;
  if (!s.regular) return absl::OkStatus();
  if (::fdatasync(s.number()) != 0) return io_error(fmt::format("{}: cannot be made durable", s.path));
  if (s.sync_directory) {
    Fd directory(::open(directory_of(s.path).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!directory.ok() || ::fsync(directory.get()) != 0) {
      return io_error(fmt::format("{}: its directory cannot be made durable", s.path));
    }
    s.sync_directory = false;
  }
  return absl::OkStatus();
}

uint64_t OutputFile::length() const {
  return state_->written + state_->packed.size() + state_->buffer.size();
}
const std::string& OutputFile::path() const { return state_->path; }

}  // namespace doppel

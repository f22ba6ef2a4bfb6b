#include "files/output_file.h"

// zlib.h: input pointers are const
#define ZLIB_CONST
#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "base/check.h"
#include "base/standard_streams.h"
#include "base/status.h"
#include "base/strings.h"
#include "files/byte_stream.h"
#include "files/places.h"

namespace doppel {
namespace {

constexpr size_t kMost = 1U << 30;  // zlib counts in 32 bits

class GzPacker final : public Packer {
 public:
  GzPacker() { ready_ = deflateInit2(&z_, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) == Z_OK; }
  ~GzPacker() override {
    if (ready_) deflateEnd(&z_);
  }
  GzPacker(const GzPacker&) = delete;
  GzPacker& operator=(const GzPacker&) = delete;

  absl::Status pack(std::string_view bytes, std::string& out) override { return put(bytes, true, out); }
  absl::Status begin(std::string_view bytes, std::string& out) override { return put(bytes, false, out); }

 private:
  absl::Status put(std::string_view bytes, bool ends, std::string& out) {
    if (!ready_ || (!open_ && deflateReset(&z_) != Z_OK))
      return absl::ResourceExhaustedError("no memory to pack gz data");
    open_ = !ends;
    size_t end = out.size();
    do {
      const std::string_view part = bytes.substr(0, kMost);
      bytes.remove_prefix(part.size());
      z_.next_in = reinterpret_cast<const Bytef*>(part.data());
      z_.avail_in = static_cast<uInt>(part.size());
      do {
        const size_t room = std::clamp<size_t>(part.size() / 2, 4096, kMost);
        out.resize(end + room);
        z_.next_out = reinterpret_cast<Bytef*>(out.data() + end);
        z_.avail_out = static_cast<uInt>(room);
        deflate(&z_, ends && bytes.empty() ? Z_FINISH : Z_NO_FLUSH);
        end += room - z_.avail_out;
      } while (z_.avail_out == 0);
    } while (!bytes.empty());
    out.resize(end);
    return absl::OkStatus();
  }

  z_stream z_ = {};
  bool ready_ = false;
  bool open_ = false;  // a member has begun and not ended
};

class ZstPacker final : public Packer {
 public:
  absl::Status pack(std::string_view bytes, std::string& out) override {
    if (context_ == nullptr) return absl::ResourceExhaustedError("no memory to pack zst data");
    if (open_) return put(bytes, ZSTD_e_end, out);
    const size_t at = out.size();
    out.resize(at + ZSTD_compressBound(bytes.size()));
    const size_t size = ZSTD_compressCCtx(context_.get(), out.data() + at, out.size() - at, bytes.data(),
                                          bytes.size(), ZSTD_CLEVEL_DEFAULT);
    out.resize(at + (ZSTD_isError(size) != 0 ? 0 : size));
    return ZSTD_isError(size) != 0 ? absl::ResourceExhaustedError(ZSTD_getErrorName(size)) : absl::OkStatus();
  }
  absl::Status begin(std::string_view bytes, std::string& out) override {
    if (context_ == nullptr) return absl::ResourceExhaustedError("no memory to pack zst data");
    return put(bytes, ZSTD_e_continue, out);
  }

 private:
  absl::Status put(std::string_view bytes, ZSTD_EndDirective how, std::string& out) {
    // The last complete frame left its size in the context, and this frame has another.
    if (!open_) ZSTD_CCtx_reset(context_.get(), ZSTD_reset_session_only);
    open_ = how != ZSTD_e_end;
    ZSTD_inBuffer in{bytes.data(), bytes.size(), 0};
    for (bool more = true; more;) {
      const size_t at = out.size();
      out.resize(at + ZSTD_CStreamOutSize());
      ZSTD_outBuffer packed{out.data() + at, out.size() - at, 0};
      const size_t left = ZSTD_compressStream2(context_.get(), &packed, &in, how);
      out.resize(at + packed.pos);
      if (ZSTD_isError(left) != 0) return absl::ResourceExhaustedError(ZSTD_getErrorName(left));
      more = how == ZSTD_e_end ? left != 0 : in.pos < in.size;
    }
    return absl::OkStatus();
  }

  bool open_ = false;  // a frame has begun and not ended
  std::unique_ptr<ZSTD_CCtx, size_t (*)(ZSTD_CCtx*)> context_{ZSTD_createCCtx(), ZSTD_freeCCtx};
};

}  // namespace

std::unique_ptr<Packer> make_packer(Packing packing) {
  switch (packing) {
    case Packing::gz:
      return std::make_unique<GzPacker>();
    case Packing::zst:
      return std::make_unique<ZstPacker>();
    case Packing::none:
      break;
  }
  return nullptr;
}

// Bytes wait in memory until flush(): only committed records reach the file, and one write carries a whole
// batch.
struct OutputFile::State {
  std::string path;
  Fd fd;
  std::string buffer;
  std::unique_ptr<Packer> packer;  // null: bytes are written uncompressed
  std::string packed;              // compressed form of what the buffer held
  std::string last;                // of what was written, kHashed bytes
  uint64_t written = 0, inode = 0;
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

constexpr uint64_t kHashed = 256;

// The last bytes before `end`; none if they cannot be read.
std::string last_before(const std::string& path, uint64_t end) {
  const Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  std::string out(fd.ok() ? std::min(end, kHashed) : 0, '\0');
  for (size_t done = 0; done < out.size();) {
    const auto at = static_cast<off_t>(end - out.size() + done);
    const ssize_t n = ::pread(fd.get(), out.data() + done, out.size() - done, at);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return {};
    done += static_cast<size_t>(n);
  }
  return out;
}

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
  if (state->regular) state->inode = info.st_ino;
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
    state->inode = info.st_ino;
    state->last = last_before(path, keep_bytes);
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
  s.last.append(bytes, done - std::min(done, kHashed), std::min(done, kHashed));
  if (s.last.size() > kHashed) s.last.erase(0, s.last.size() - kHashed);
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
uint64_t OutputFile::inode() const { return state_->inode; }

uint64_t OutputFile::last_hash() const {
  const State& s = *state_;
  const std::string all = s.last + s.packed + s.buffer;
  return XXH3_64bits(all.data() + all.size() - std::min(all.size(), kHashed), std::min(all.size(), kHashed));
}

uint64_t hash_before(const std::string& path, uint64_t end) {
  const std::string last = last_before(path, end);
  return last.size() == std::min(end, kHashed) ? XXH3_64bits(last.data(), last.size()) : 0;
}

namespace {

constexpr uint64_t kBuffered = 1 << 20;

// Paths that stand for open files: replacing one would write elsewhere.
bool is_name_of_descriptor(const std::string& path) {
  return path.starts_with("/dev/") || path.starts_with("/proc/");
}

}  // namespace

struct WholeOutput::State {
  std::string path;       // as given
  std::string target;     // the file to be replaced; empty: the output is written directly
  std::string temporary;  // the temporary file in the same directory
  mode_t mode = 0;        // of the file that is replaced; 0: there is none
  std::unique_ptr<OutputFile> file;
  uint64_t flushed = 0;
};

WholeOutput::WholeOutput(std::unique_ptr<State> state) : state_(std::move(state)) {}

WholeOutput::~WholeOutput() {
  if (!state_->temporary.empty()) ::unlink(state_->temporary.c_str());
}

absl::StatusOr<std::unique_ptr<WholeOutput>> WholeOutput::open(const std::string& path) {
  std::string_view name = path;
  return open(path, packing_of(name));
}

absl::StatusOr<std::unique_ptr<WholeOutput>> WholeOutput::open_unpacked(const std::string& path) {
  return open(path, Packing::none);
}

absl::StatusOr<std::unique_ptr<WholeOutput>> WholeOutput::open(const std::string& path, Packing packing) {
  auto state = std::make_unique<State>();
  state->path = path;
  struct stat info = {};
  const bool there = ::stat(path.c_str(), &info) == 0;
  if (path == "-" || is_name_of_descriptor(path) || (there && !S_ISREG(info.st_mode))) {
    ASSIGN_OR_RETURN(state->file, OutputFile::open(path, packing));
    return std::unique_ptr<WholeOutput>(new WholeOutput(std::move(state)));
  }
  if (there && ::access(path.c_str(), W_OK) != 0) return io_error(path);
  if (there) state->mode = info.st_mode & 07777;
  state->target = behind_links(path);
  const size_t name = state->target.rfind('/') + 1;  // 0 without a slash
  // Hidden, so that readers of the directory skip it.
  const std::string temporary =
      fmt::format("{}.{}.{}.tmp", state->target.substr(0, name), state->target.substr(name), ::getpid());
  absl::StatusOr<std::unique_ptr<OutputFile>> file = OutputFile::open(temporary, packing);
  if (!file.ok()) {
    return absl::Status(file.status().code(), absl_sv(fmt::format("{} cannot be written: {}", path,
                                                                  std_sv(file.status().message()))));
  }
  state->file = *std::move(file);
  state->temporary = temporary;
  return std::unique_ptr<WholeOutput>(new WholeOutput(std::move(state)));
}

absl::Status WholeOutput::append(std::string_view bytes) {
  State& s = *state_;
  s.file->append(bytes);
  if (!s.file->is_packed() && s.file->length() - s.flushed < kBuffered) return absl::OkStatus();
  s.flushed = s.file->length();
  return s.file->flush();
}

absl::Status WholeOutput::finish() {
  State& s = *state_;
  RETURN_IF_ERROR(s.file->finish());
  if (s.target.empty()) return absl::OkStatus();
  RETURN_IF_ERROR(s.file->sync());
  if (s.mode != 0 && ::chmod(s.temporary.c_str(), s.mode) != 0) return io_error(s.path);
  if (::rename(s.temporary.c_str(), s.target.c_str()) != 0) return io_error(s.path + ": cannot be replaced");
  s.temporary.clear();
  return absl::OkStatus();
}

std::string target_of_dead_temporary(const std::string& name) {
  constexpr std::string_view kEnd = ".tmp";
  if (!name.starts_with('.') || !name.ends_with(kEnd)) return {};
  const std::string_view named = std::string_view(name).substr(1, name.size() - 1 - kEnd.size());
  const size_t dot = named.rfind('.');
  uint64_t process = 0;
  if (dot == std::string_view::npos || !whole_number(named.substr(dot + 1), process) || process == 0 ||
      process > INT_MAX)
    return {};
  const bool dead = ::kill(static_cast<pid_t>(process), 0) != 0 && errno == ESRCH;
  return dead ? std::string(named.substr(0, dot)) : std::string();
}

absl::Status write_whole_output(const std::string& path, std::string_view bytes) {
  ASSIGN_OR_RETURN(const std::unique_ptr<WholeOutput> file, WholeOutput::open(path));
  RETURN_IF_ERROR(file->append(bytes));
  return file->finish();
}

namespace {

constexpr size_t kCopied = 1 << 20;

}  // namespace

absl::StatusOr<Fd> unnamed_file(const std::string& directory) {
  std::string name = directory + "/.doppel.XXXXXX";
  Fd fd(::mkostemp(name.data(), O_CLOEXEC));
  if (!fd.ok() || ::unlink(name.c_str()) != 0) return io_error(directory);
  return fd;
}

absl::Status write_at(int fd, uint64_t offset, std::string_view bytes, const std::string& what) {
  while (!bytes.empty()) {
    const ssize_t n = ::pwrite(fd, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return io_error(what);
    offset += static_cast<uint64_t>(n);
    bytes.remove_prefix(static_cast<size_t>(n));
  }
  return absl::OkStatus();
}

absl::StatusOr<Spill> Spill::open(const std::string& directory) {
  Spill out;
  ASSIGN_OR_RETURN(out.fd_, unnamed_file(directory));
  return out;
}

absl::StatusOr<uint64_t> Spill::append(std::string_view bytes) {
  RETURN_IF_ERROR(write_at(fd_.get(), end_, bytes, "a temporary file cannot be written"));
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

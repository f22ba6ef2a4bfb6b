#include "files/whole_output.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>

#include "base/status.h"
#include "files/output_file.h"
#include "files/places.h"

namespace doppel {
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

absl::Status write_whole_output(const std::string& path, std::string_view bytes) {
  ASSIGN_OR_RETURN(const std::unique_ptr<WholeOutput> file, WholeOutput::open(path));
  RETURN_IF_ERROR(file->append(bytes));
  return file->finish();
}

}  // namespace doppel

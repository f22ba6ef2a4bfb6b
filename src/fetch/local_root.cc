// Finds files by name in a directory tree. It lists the subdirectories once, and again when a name is
// missing, but at most once per round.

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <map>
#include <mutex>
#include <vector>

#include "base/status.h"
#include "fetch/record_assembler.h"
#include "fetch/warc_root.h"
#include "files/fd.h"

namespace doppel {
namespace {

namespace fs = std::filesystem;

class LocalRoot final : public WarcRoot {
 public:
  LocalRoot(std::string root, const WarcRootOptions& options) : root_(std::move(root)), options_(options) {}

  absl::StatusOr<std::string> read(const WarcPlace& place, uint64_t round) override {
    Fd fd = find(place.filename, round);
    if (!fd.ok()) return absl::NotFoundError(fmt::format("{} is not below {}", place.filename, root_));
    RecordAssembler assembler(options_.max_bytes);
    std::vector<char> piece(256 << 10);
    for (uint64_t at = place.offset;;) {
      const ssize_t got = ::pread(fd.get(), piece.data(), piece.size(), static_cast<off_t>(at));
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return absl::UnavailableError(fmt::format("{}: {}", place.filename, std::strerror(errno)));
      if (got == 0) {
        RETURN_IF_ERROR(assembler.end());
        return assembler.take();
      }
      ASSIGN_OR_RETURN(bool complete, assembler.feed({piece.data(), static_cast<size_t>(got)}));
      if (complete) return assembler.take();
      at += static_cast<uint64_t>(got);
    }
  }

 private:
  static Fd open_file(const std::string& path) { return Fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC)); }

  // A file that is still being written has another name. It may be renamed at any moment.
  static Fd open_either(const std::string& path) {
    Fd fd = open_file(path);
    if (!fd.ok()) fd = open_file(path + ".open");
    if (!fd.ok()) fd = open_file(path);
    return fd;
  }

  Fd find(const std::string& name, uint64_t round) {
    Fd fd = open_either(root_ + "/" + name);
    if (fd.ok()) return fd;
    std::string path = known(name);
    if (!path.empty()) fd = open_either(path);
    if (fd.ok()) return fd;
    refresh(round);
    path = known(name);
    if (!path.empty()) fd = open_either(path);
    return fd;
  }

  std::string known(const std::string& name) {
    std::lock_guard lock(mutex_);
    auto at = paths_.find(name);
    return at == paths_.end() ? std::string() : at->second;
  }

  void refresh(uint64_t round) {
    std::lock_guard lock(mutex_);
    if (searched_ && round_ == round) return;
    searched_ = true;
    round_ = round;
    paths_.clear();
    std::error_code error;
    for (fs::recursive_directory_iterator it(root_, fs::directory_options::skip_permission_denied, error),
         end;
         !error && it != end; it.increment(error)) {
      std::error_code ignored;
      if (!it->is_regular_file(ignored)) continue;
      std::string path = it->path().string();
      if (path.ends_with(".open")) path.resize(path.size() - 5);
      paths_.emplace(path.substr(path.rfind('/') + 1), path);
    }
  }

  const std::string root_;
  const WarcRootOptions options_;
  std::mutex mutex_;
  std::map<std::string, std::string> paths_;
  bool searched_ = false;
  uint64_t round_ = 0;
};

}  // namespace

bool is_safe_filename(std::string_view filename) {
  if (filename.empty() || filename.size() > 1024 || filename.front() == '/') return false;
  if (filename.find('\0') != std::string_view::npos) return false;
  for (size_t at = 0; at <= filename.size();) {
    const size_t slash = std::min(filename.find('/', at), filename.size());
    if (filename.substr(at, slash - at) == "..") return false;
    at = slash + 1;
  }
  return true;
}

absl::StatusOr<std::unique_ptr<WarcRoot>> open_warc_root(const std::string& root,
                                                         const WarcRootOptions& options) {
  if (root.starts_with("http://") || root.starts_with("https://")) return make_http_root(root, options);
  std::error_code error;
  if (!fs::is_directory(root, error)) {
    return invalid(fmt::format("warc.roots: {} is neither a directory nor an http address", root));
  }
  return std::make_unique<LocalRoot>(root, options);
}

}  // namespace doppel

#include "files/places.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "base/status.h"

namespace doppel {
namespace {

namespace fs = std::filesystem;

constexpr int kMostLinks = 40;  // the limit of the kernel

std::string directory_part(const std::string& path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

std::optional<FileIdentity> place_from(const struct stat& info) {
  if (S_ISCHR(info.st_mode) || S_ISBLK(info.st_mode)) return std::nullopt;
  return FileIdentity{info.st_dev, info.st_ino, {}, S_ISREG(info.st_mode)};
}

std::optional<FileIdentity> identity_of_descriptor(int fd) {
  struct stat info = {};
  if (::fstat(fd, &info) != 0) return std::nullopt;
  return place_from(info);
}

std::string shown_path(const NamedPath& file, const char* standard) {
  return file.path == "-" ? fmt::format("{} ({})", standard, file.what)
                          : fmt::format("{} ({})", file.path, file.what);
}

}  // namespace

std::string behind_links(const std::string& path) {
  std::string at = path;
  for (int links = 0; links < kMostLinks; ++links) {
    struct stat info = {};
    if (::lstat(at.c_str(), &info) != 0 || !S_ISLNK(info.st_mode)) break;
    std::error_code error;
    const fs::path target = fs::read_symlink(at, error);
    if (error) break;
    at = target.is_absolute() ? target.string() : (fs::path(directory_part(at)) / target).string();
  }
  return at;
}

std::optional<FileIdentity> identity_of(const std::string& path) {
  struct stat info = {};
  if (::stat(path.c_str(), &info) == 0) return place_from(info);
  const std::string target = behind_links(path);
  if (::stat(directory_part(target).c_str(), &info) != 0) return std::nullopt;
  return FileIdentity{info.st_dev, info.st_ino, target.substr(target.rfind('/') + 1), true};
}

bool lies_in(const std::string& path, const std::string& directory) {
  std::error_code error;
  const fs::path wanted = fs::weakly_canonical(fs::absolute(behind_links(directory)), error);
  const std::optional<FileIdentity> place = identity_of(wanted.string());
  for (fs::path at = fs::weakly_canonical(fs::absolute(behind_links(path)), error);; at = at.parent_path()) {
    if (at == wanted || (place && identity_of(at.string()) == place)) return true;
    if (at == at.parent_path()) return false;
  }
}

absl::Status check_outputs(std::span<const NamedPath> outputs, std::span<const NamedPath> inputs) {
  std::vector<std::optional<FileIdentity>> places;
  for (const NamedPath& output : outputs) {
    places.push_back(output.path.empty()  ? std::nullopt
                     : output.path == "-" ? identity_of_descriptor(STDOUT_FILENO)
                                          : identity_of(output.path));
    for (const NamedPath& input : inputs) {
      if (output.path.empty() || input.path.empty() || !places.back() || !places.back()->regular) continue;
      const std::optional<FileIdentity> place =
          input.path == "-" ? identity_of_descriptor(STDIN_FILENO) : identity_of(input.path);
      if (place && *place == *places.back() && place->name.empty()) {
        return invalid(
            fmt::format("{} would be written over {}, which is read: they are one file; name another",
                        shown_path(output, "stdout"), shown_path(input, "stdin")));
      }
    }
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      if (outputs[i].path.empty() || outputs[j].path.empty()) continue;
      const bool both_stdout = outputs[i].path == "-" && outputs[j].path == "-";
      if (both_stdout || (places[i] && places[j] && *places[i] == *places[j])) {
        return invalid(fmt::format("{} and {} are one file; each needs its own",
                                   shown_path(outputs[j], "stdout"), shown_path(outputs[i], "stdout")));
      }
    }
  }
  return absl::OkStatus();
}

}  // namespace doppel

#include "stream/files/listing.h"

#include <dirent.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cctype>
#include <memory>
#include <system_error>

#include "base/status.h"

namespace doppel {
namespace {

class Walk {
 public:
  Walk(const std::string& layout, Listing& out) : layout_(layout), out_(out) {}

  absl::Status add(const std::string& path) {
    struct stat info = {};
    if (path == "-") {
      add_file(path, info, true);
      return absl::OkStatus();
    }
    if (::stat(path.c_str(), &info) != 0) return io_error(path);
    if (!S_ISDIR(info.st_mode)) {
      add_file(path, info, !S_ISREG(info.st_mode));
      return absl::OkStatus();
    }
    size_t first = out_.files.size();
    directory(path, info);
    std::sort(out_.files.begin() + static_cast<ptrdiff_t>(first), out_.files.end(),
              [](const InputFile& a, const InputFile& b) { return a.path < b.path; });
    return absl::OkStatus();
  }

 private:
  void problem(const std::string& path, const std::string& cause) {
    out_.problems.push_back({path, 0, 0, fmt::format("{}: {}", path, cause)});
  }

  void directory(const std::string& path, const struct stat& info) {
    std::unique_ptr<DIR, int (*)(DIR*)> entries(::opendir(path.c_str()), ::closedir);
    if (!entries) return problem(path, system_cause());
    // Only a directory that we are inside of can close a loop.
    above_.emplace_back(info.st_dev, info.st_ino);
    for (;;) {
      errno = 0;
      const dirent* entry = ::readdir(entries.get());
      if (entry == nullptr) break;
      if (entry->d_name[0] == '.') continue;
      std::string child = path.ends_with('/') ? path + entry->d_name : path + "/" + entry->d_name;
      struct stat child_info = {};
      if (::stat(child.c_str(), &child_info) != 0) {
        problem(child, system_cause());
      } else if (S_ISREG(child_info.st_mode)) {
        add_file(child, child_info, false);
      } else if (S_ISDIR(child_info.st_mode)) {
        if (std::find(above_.begin(), above_.end(), std::pair(child_info.st_dev, child_info.st_ino)) !=
            above_.end()) {
          problem(child, "a link back to a directory that it is in; not followed");
        } else {
          directory(child, child_info);
        }
      }
    }
    if (errno != 0) problem(path, system_cause());
    above_.pop_back();
  }

  void add_file(const std::string& path, const struct stat& info, bool pipe) {
    struct stat known = info;
    if (pipe) known.st_mode = S_IFIFO;
    if (std::string_view why = refusal(path); layout_ == "auto" && !pipe && !why.empty())
      return problem(path, std::string(why));
    out_.files.push_back(describe_file(path, known, layout_));
  }

  const std::string& layout_;
  Listing& out_;
  std::vector<std::pair<dev_t, ino_t>> above_;
};

}  // namespace

InputFile describe_file(std::string path, const struct stat& info, const std::string& layout) {
  InputFile file;
  file.path = std::move(path);
  file.pipe = !S_ISREG(info.st_mode);
  file.size = file.pipe ? 0 : static_cast<uint64_t>(info.st_size);
  file.device = info.st_dev;
  file.inode = info.st_ino;
  std::string_view name = file.path;
  file.packing = packing_of(name);
  std::string lower(name.substr(name.size() - std::min<size_t>(name.size(), 8)));
  std::transform(lower.begin(), lower.end(), lower.begin(), [](unsigned char c) { return std::tolower(c); });
  file.lines =
      layout == "lines" || (layout == "auto" && (file.pipe || lower.ends_with(".jsonl") ||
                                                 lower.ends_with(".ndjson") || lower.ends_with(".json")));
  file.warc = layout == "auto" && !file.pipe && lower.ends_with(".warc");
  file.lines = file.lines || file.warc;
  return file;
}

std::string_view refusal(std::string_view path) {
  if (path.ends_with(".wacz")) return "WACZ files are not read; unpack it and give its archive/*.warc.gz";
  if (path.ends_with(".arc") || path.ends_with(".arc.gz"))
    return "ARC files are not read; make WARC files of them (warcio recompress, or arc2warc)";
  return {};
}

absl::StatusOr<Listing> list_files(const FilesSourceOptions& options) {
  if (options.layout != "auto" && options.layout != "lines" && options.layout != "whole") {
    return invalid(fmt::format("layout \"{}\": not one of auto, lines, whole", options.layout));
  }
  Listing listing;
  Walk walk(options.layout, listing);
  for (const std::string& path : options.paths) RETURN_IF_ERROR(walk.add(path));
  if (listing.files.empty()) {
    std::string message = "nothing to read";
    if (options.paths.size() == 1) message += " in " + options.paths[0];
    if (!listing.problems.empty()) message += " (" + listing.problems[0].message + ")";
    return absl::NotFoundError(message);
  }
  return listing;
}

Problem make_problem(const std::string& path, uint64_t line, uint64_t offset, const std::string& cause) {
  if (line > 0)
    return {path, line, offset, fmt::format("{}: line {}, byte {}: {}", path, line, offset, cause)};
  return {path, 0, offset, fmt::format("{}: byte {}: {}", path, offset, cause)};
}

std::string system_cause() { return std::generic_category().message(errno); }

}  // namespace doppel

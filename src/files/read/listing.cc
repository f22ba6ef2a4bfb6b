#include "files/read/listing.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <memory>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "base/status.h"
#include "files/places.h"
#include "files/read/content.h"
#include "files/warc/wacz.h"

namespace doppel {
namespace {

// Files that Spark and others put next to the files of a table. They are not documents.
bool is_beside_tables(std::string_view name) {
  return name == "_SUCCESS" || name == "_metadata" || name == "_common_metadata";
}

// Indexes and logs, which crawlers and their tools put next to WARC files.
bool is_index_name(std::string_view name) {
  packing_of(name);
  return name.ends_with(".cdx") || name.ends_with(".cdxj") || name.ends_with(".log");
}

class Walk {
 public:
  Walk(const FilesSourceOptions& options, Listing& out)
      : layout_(options.layout),
        judged_before_(options.judged_before),
        remote_(options.remote),
        listing_(options.listing),
        out_(out) {
    if (remote_ != nullptr) {
      std::vector<std::string> urls;
      std::copy_if(options.paths.begin(), options.paths.end(), std::back_inserter(urls), is_url);
      if (!urls.empty()) found_ = remote_->list(urls, listing_);
    }
    for (const NamedPath& output : options.outputs) written(output, false);
    for (const std::string& path : options.own_outputs) written({"", path}, true);
    struct stat info = {};
    for (const std::string& path : options.output_directories) {
      if (::stat(path.c_str(), &info) == 0) left_out_.emplace_back(info.st_dev, info.st_ino);
    }
  }

  absl::Status add(const std::string& path) {
    struct stat info = {};
    if (path == "-") {
      add_file(path, info, true);
      return absl::OkStatus();
    }
    if (is_url(path)) return add_remote(path);
    if (::stat(path.c_str(), &info) != 0) return io_error(path);
    if (!S_ISDIR(info.st_mode)) {
      if (!add_wacz(path, info)) add_file(path, info, !S_ISREG(info.st_mode));
      return absl::OkStatus();
    }
    size_t first = out_.files.size();
    indexes_.clear();
    directory(path, info);
    end_folder(first);
    return lost_;
  }

 private:
  struct Written {
    NamedPath output;
    FileIdentity place;
    bool ours;
  };

  void written(const NamedPath& output, bool ours) {
    const std::optional<FileIdentity> place =
        output.path.empty() || output.path == "-" ? std::nullopt : identity_of(output.path);
    if (place && place->name.empty() && place->regular) written_.push_back({output, *place, ours});
  }

  // Whether the file is one of our outputs.
  bool is_written(const InputFile& file) {
    for (const Written& w : written_) {
      if (w.place.device != file.device || w.place.inode != file.inode) continue;
      if (!w.ours && file.size > 0 && lost_.ok()) {
        lost_ =
            invalid(fmt::format("{} ({}) would overwrite {}, an existing file in a directory that is read: "
                                "name another, or move the file away",
                                w.output.path, w.output.what, file.path));
      }
      return true;
    }
    return false;
  }

  void problem(const std::string& path, const std::string& cause) {
    out_.problems.push_back({path, 0, 0, fmt::format("{}: {}", path, cause)});
  }

  void directory(const std::string& path, const struct stat& info) {
    if (std::find(left_out_.begin(), left_out_.end(), std::pair(info.st_dev, info.st_ino)) != left_out_.end())
      return;
    std::unique_ptr<DIR, int (*)(DIR*)> entries(::opendir(path.c_str()), ::closedir);
    if (!entries) return problem(path, system_cause());
    // Only the directories above this one can close a loop.
    above_.emplace_back(info.st_dev, info.st_ino);
    for (;;) {
      errno = 0;
      const dirent* entry = ::readdir(entries.get());
      if (entry == nullptr) break;
      if (entry->d_name[0] == '.' || is_beside_tables(entry->d_name)) continue;
      std::string child = path.ends_with('/') ? path + entry->d_name : path + "/" + entry->d_name;
      struct stat child_info = {};
      if (::stat(child.c_str(), &child_info) != 0) {
        problem(child, system_cause());
      } else if (S_ISREG(child_info.st_mode)) {
        InputFile file = describe_file(child, child_info, layout_);
        if (layout_ == Layout::automatic && is_index_name(entry->d_name)) {
          indexes_.push_back(std::move(file));
        } else if (!is_written(file) && !(is_wacz_name(child) && add_wacz(child, child_info))) {
          out_.files.push_back(std::move(file));
          listing_(out_.files.size());
        }
      } else if (S_ISDIR(child_info.st_mode)) {
        if (std::find(above_.begin(), above_.end(), std::pair(child_info.st_dev, child_info.st_ino)) !=
            above_.end()) {
          problem(child, "a link to a directory that contains it; not followed");
        } else {
          directory(child, child_info);
        }
      }
    }
    if (errno != 0) problem(path, system_cause());
    above_.pop_back();
  }

  absl::Status add_remote(const std::string& url) {
    if (remote_ == nullptr)
      return invalid(fmt::format("{}: a URL; only doppel scan reads these", url_without_secrets(url)));
    const RemoteFiles::Found& found = found_.at(next_url_++);
    if (!found.ok() && found_.size() > 1 && !absl::IsCancelled(found.status())) {
      out_.problems.push_back(
          {url_without_secrets(url), 0, 0, std::string(std_sv(found.status().message()))});
      return absl::OkStatus();
    }
    RETURN_IF_ERROR(found.status());
    const size_t first = out_.files.size();
    const bool one = found->size() == 1 && found->front()->url == url;
    indexes_.clear();
    for (const std::shared_ptr<const RemoteFile>& remote : *found) {
      const std::string_view name = std::string_view(remote->name).substr(remote->name.rfind('/') + 1);
      if (!one && (name.starts_with('.') || is_beside_tables(name))) continue;
      struct stat info = {};
      info.st_mode = S_IFREG;
      info.st_size = static_cast<off_t>(remote->size);
      info.st_dev = XXH3_64bits(remote->name.data(), remote->name.size());
      info.st_ino = XXH3_64bits(remote->version.data(), remote->version.size());
      InputFile file = describe_file(remote->name, info, layout_);
      file.remote = remote;
      const bool index = !one && layout_ == Layout::automatic && is_index_name(name);
      (index ? indexes_ : out_.files).push_back(std::move(file));
    }
    end_folder(first);
    return absl::OkStatus();
  }

  // Next to WARC files, indexes and logs belong to the crawl and are not documents; elsewhere they are
  // ordinary files. The files of a folder, from the one at `first` on, are read in the order of their paths.
  void end_folder(size_t first) {
    const auto begin = [&] { return out_.files.begin() + static_cast<ptrdiff_t>(first); };
    if (std::any_of(begin(), out_.files.end(), [](const InputFile& file) { return file.archive(); })) {
      out_.indexes += indexes_.size();
    } else {
      std::copy_if(indexes_.begin(), indexes_.end(), std::back_inserter(out_.files),
                   [this](const InputFile& file) { return !is_written(file); });
    }
    std::sort(begin(), out_.files.end(), [](const InputFile& a, const InputFile& b) {
      return std::tie(a.path, a.member) < std::tie(b.path, b.member);
    });
  }

  // Returns false if the file is not a WACZ file.
  bool add_wacz(const std::string& path, const struct stat& info) {
    if (layout_ != Layout::automatic || !S_ISREG(info.st_mode)) return false;
    const Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!fd.ok()) return false;  // reported when the file is read
    absl::StatusOr<Wacz> inside = look_into_wacz(fd.get(), path, info);
    if (!inside.ok()) {
      out_.problems.push_back({path, 0, 0, std::string(std_sv(inside.status().message()))});
      return true;
    }
    if (inside->files.empty() && inside->problems.empty()) return false;
    std::move(inside->files.begin(), inside->files.end(), std::back_inserter(out_.files));
    std::move(inside->problems.begin(), inside->problems.end(), std::back_inserter(out_.problems));
    return true;
  }

  void add_file(const std::string& path, const struct stat& info, bool pipe) {
    struct stat known = info;
    if (pipe) known.st_mode = S_IFIFO;
    out_.files.push_back(describe_file(path, known, layout_));
    if (pipe) out_.files.back().name = name_of_pipe(path, judged_before_);
  }

  const Layout layout_;
  const uint64_t judged_before_;
  const std::shared_ptr<RemoteFiles> remote_;
  const std::function<void(uint64_t)>& listing_;
  std::vector<RemoteFiles::Found> found_;  // for each URL among the paths, in their order
  size_t next_url_ = 0;
  Listing& out_;
  std::vector<std::pair<dev_t, ino_t>> above_, left_out_;
  std::vector<Written> written_;
  std::vector<InputFile> indexes_;  // of the current folder
  absl::Status lost_;               // set if a file would be overwritten
};

bool is_link(const InputFile& file) {
  struct stat info = {};
  return file.remote == nullptr && ::lstat(file.path.c_str(), &info) == 0 && S_ISLNK(info.st_mode);
}

// Leaves each file once that several paths lead to: otherwise it would be its own copy. Of its paths the
// first one that is no symbolic link stays.
void leave_each_file_once(Listing& listing) {
  std::vector<InputFile>& files = listing.files;
  absl::flat_hash_map<std::pair<uint64_t, uint64_t>, size_t> stays;
  std::vector<bool> gone(files.size());
  for (size_t i = 0; i < files.size(); ++i) {
    if (files[i].pipe) continue;
    const auto [known, fresh] = stays.try_emplace(std::pair(files[i].device, files[i].inode), i);
    if (fresh) continue;
    const bool other = is_link(files[known->second]) && !is_link(files[i]);
    if (listing.links++ == 0) {
      const InputFile &link = files[other ? known->second : i], &file = files[other ? i : known->second];
      listing.first_link = fmt::format("{} is {}", link.shown(), file.shown());
    }
    gone[other ? std::exchange(known->second, i) : i] = true;
  }
  size_t at = 0;
  std::erase_if(files, [&](const InputFile&) { return gone[at++]; });
}

}  // namespace

absl::StatusOr<Listing> list_files(const FilesSourceOptions& options) {
  Listing listing;
  Walk walk(options, listing);
  for (const std::string& path : options.paths) RETURN_IF_ERROR(walk.add(path));
  leave_each_file_once(listing);
  if (listing.links != 0) {
    options.say(fmt::format("{} left out, because {} to files that are read already: {}{}",
                            listing.links == 1 ? "1 path is" : fmt::format("{} paths are", listing.links),
                            listing.links == 1 ? "it leads" : "they lead", listing.first_link,
                            listing.links == 1 ? "" : ", ..."));
  }
  if (listing.indexes != 0) {
    options.say(fmt::format("{} index and log files (.cdx, .cdxj, .log) beside WARC files are not read",
                            listing.indexes));
  }
  if (listing.files.empty()) {
    std::string message = "nothing to read";
    if (options.paths.size() == 1) message += " in " + options.paths[0];
    if (!listing.problems.empty()) message += " (" + listing.problems[0].message + ")";
    return absl::NotFoundError(message);
  }
  return listing;
}

namespace {

struct Head {
  std::array<char, kHeadBytes> bytes;
  size_t length = 0;
  std::string_view first(size_t n) const { return {bytes.data(), std::min(length, n)}; }
};

bool read_head(int fd, const Part& part, struct stat& info, Head& head) {
  if (::fstat(fd, &info) != 0) return false;
  size_t most = head.bytes.size();
  if (!part.is_all()) {
    info.st_ino = inode_of(info.st_ino, part);
    info.st_size = static_cast<off_t>(part.size);
    most = std::min<uint64_t>(most, part.size);
  }
  ssize_t got = ::pread(fd, head.bytes.data(), most, static_cast<off_t>(part.begin));
  head.length = got < 0 ? 0 : static_cast<size_t>(got);
  return got >= 0;
}

bool matches(const LineMark& mark, const struct stat& info, const Head& head, bool as_stored) {
  auto size = static_cast<uint64_t>(info.st_size);
  uint64_t least = std::max(mark.disk_length, as_stored ? mark.offset : 0);
  return mark.device == info.st_dev && mark.inode == info.st_ino &&
         size >= std::max(least, mark.head_length) && head.length >= mark.head_length &&
         hash_of_head(head.first(mark.head_length)) == mark.head_hash;
}

}  // namespace

bool is_file_of(int fd, bool as_stored, const LineMark& mark, const Part& part) {
  struct stat info = {};
  Head head;
  return read_head(fd, part, info, head) && matches(mark, info, head, as_stored);
}

LineMark mark_of(int fd, const Part& part) {
  struct stat info = {};
  Head head;
  LineMark mark;
  if (!read_head(fd, part, info, head)) return mark;
  mark.device = info.st_dev;
  mark.inode = info.st_ino;
  mark.head_length = head.length;
  mark.head_hash = hash_of_head(head.first(head.length));
  return mark;
}

LineMark mark_of(const InputFile& remote) {
  LineMark mark;
  mark.device = remote.device;
  mark.inode = remote.inode;
  mark.head_hash = hash_of_head({});
  return mark;
}

uint64_t whole_mark_of(const InputFile& remote) {
  return whole_mark(remote.device, remote.inode, remote.size, "");
}

namespace {

// Opens a file that may be known. A file behind a URL needs no look at its content.
struct Known {
  Fd fd;
  struct stat info = {};
  Head head;
  bool open(const FilesSourceOptions& options, InputFile& file) {
    if (file.remote != nullptr) {
      info.st_dev = file.device;
      info.st_ino = file.inode;
      info.st_size = static_cast<off_t>(file.size);
      return true;
    }
    fd = Fd(::open(file.path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    if (!fd.ok() || !read_head(fd.get(), file.part, info, head)) return false;
    look_inside(fd.get(), options, file);
    return true;
  }
};

}  // namespace

Resume find_resume_points(const FilesSourceOptions& options, Listing& listing, const Position& position,
                          PositionWriter& writer, std::vector<Problem>& problems) {
  Resume resume;
  resume.skip.resize(listing.files.size());
  std::unordered_map<uint64_t, size_t> wholes;  // and the number of files with this mark
  for (uint64_t mark : position.wholes) {
    ++wholes[mark];
    writer.add_whole(mark);
  }
  std::multimap<std::pair<uint64_t, uint64_t>, size_t> by_inode;
  for (size_t i = 0; i < position.lines.size(); ++i) {
    by_inode.emplace(std::pair(position.lines[i].device, position.lines[i].inode), i);
  }
  enum class Fate : char { unseen, found, replaced };
  std::vector<Fate> fates(position.lines.size(), Fate::unseen);
  std::vector<size_t> grown;
  absl::flat_hash_set<uint64_t> urls;  // as in InputFile::device

  for (size_t f = 0; f < listing.files.size(); ++f) {
    InputFile& file = listing.files[f];
    if (file.pipe) continue;
    if (file.remote != nullptr) urls.insert(file.device);
    auto [mark, last] = by_inode.equal_range(std::pair(file.device, file.inode));
    if (mark == last && wholes.empty()) continue;
    Known found;
    if (!found.open(options, file)) continue;  // reported when the file is read
    const auto& [fd, info, head] = found;
    auto size = static_cast<uint64_t>(info.st_size);
    if (file.remote != nullptr ? mark == last : !file.in_parts()) {
      auto known = wholes.find(whole_mark(info.st_dev, info.st_ino, size, head.first(size)));
      if (known == wholes.end() || known->second == 0) continue;
      --known->second;
      resume.skip[f] = true;
      continue;
    }
    for (; mark != last; ++mark) {
      const LineMark& known = position.lines[mark->second];
      Fate& fate = fates[mark->second];
      if (fate == Fate::found) continue;
      if (!matches(known, info, head, file.remote == nullptr && file.as_stored())) {
        fate = Fate::replaced;
        continue;
      }
      fate = Fate::found;
      if (known.disk_length == size) {
        resume.skip[f] = true;
        writer.add_done(known);
      } else {
        resume.from.emplace(f, known);
        grown.push_back(mark->second);
      }
      break;
    }
  }
  for (size_t i : grown) writer.add_pending(position.lines[i]);

  for (size_t i = 0; i < position.lines.size(); ++i) {
    const LineMark& mark = position.lines[i];
    if (fates[i] == Fate::found) continue;
    bool unfinished = mark.disk_length == 0;
    struct stat info = {};
    const bool gone =
        fates[i] == Fate::replaced || urls.contains(mark.device) ||
        (unfinished && !is_url(mark.path) && !is_in_wacz(mark.path, mark.device, mark.inode) &&
         (::stat(mark.path.c_str(), &info) != 0 || info.st_dev != mark.device || info.st_ino != mark.inode));
    if (!gone) {
      writer.add_done(mark);  // not among the paths of this run
    } else if (unfinished) {
      problems.push_back(
          make_problem(mark.path, mark.lines, mark.offset,
                       "the last run was interrupted here, and the file is gone or was replaced"));
    }
  }
  return resume;
}

}  // namespace doppel

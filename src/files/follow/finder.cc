#include "files/follow/finder.h"

#include <dirent.h>
#include <fmt/format.h>
#include <sys/inotify.h>
#include <sys/vfs.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>

#include "base/status.h"
#include "files/input_file.h"

namespace doppel {
namespace {

constexpr uint32_t kEvents = IN_CREATE | IN_MODIFY | IN_CLOSE_WRITE | IN_MOVED_TO | IN_MOVED_FROM |
                             IN_DELETE | IN_DELETE_SELF | IN_ONLYDIR;

// File systems that other machines may write to: NFS, SMB, CIFS, SMB2, FUSE, 9P, Ceph.
bool is_remote(const std::string& directory) {
  constexpr std::array<uint32_t, 7> kRemote{0x6969,     0x517b,     0xff534d42, 0xfe534d42,
                                            0x65735546, 0x01021997, 0x00c36400};
  struct statfs info = {};
  if (::statfs(directory.c_str(), &info) != 0) return true;
  return std::find(kRemote.begin(), kRemote.end(), static_cast<uint32_t>(info.f_type)) != kRemote.end();
}

Change::Kind kind_of(uint32_t mask) {
  using Kind = Change::Kind;
  if ((mask & IN_ISDIR) != 0) {
    if ((mask & (IN_CREATE | IN_MOVED_TO)) != 0) return Kind::directory;
    return (mask & IN_MOVED_FROM) != 0 ? Kind::lost : Kind::changed;
  }
  if ((mask & (IN_CLOSE_WRITE | IN_MOVED_TO)) != 0) return Kind::closed;
  if ((mask & IN_DELETE) != 0) return Kind::deleted;
  if ((mask & IN_MOVED_FROM) != 0) return Kind::moved;
  return (mask & IN_CREATE) != 0 ? Kind::created : Kind::changed;
}

}  // namespace

Watcher::Watcher() : fd_(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC)) {}

bool Watcher::watch(const std::string& directory) {
  if (!fd_.ok() || is_remote(directory)) return false;
  const int wd = ::inotify_add_watch(fd_.get(), directory.c_str(), kEvents);
  if (wd < 0) return false;
  paths_[wd] = directory;  // it may have been watched under another name
  return true;
}

void Watcher::take(std::vector<Change>& changes) {
  if (!fd_.ok()) return;
  alignas(inotify_event) std::array<char, 64 << 10> buffer;
  for (;;) {
    const ssize_t got = ::read(fd_.get(), buffer.data(), buffer.size());
    if (got <= 0) return;
    for (ssize_t at = 0; at < got;) {
      const auto* event = reinterpret_cast<const inotify_event*>(buffer.data() + at);
      at += static_cast<ssize_t>(sizeof(inotify_event) + event->len);
      if ((event->mask & IN_IGNORED) != 0) {
        paths_.erase(event->wd);
      } else if ((event->mask & (IN_Q_OVERFLOW | IN_DELETE_SELF)) != 0) {
        changes.push_back({Change::Kind::lost, ""});
      } else if (auto path = paths_.find(event->wd); path != paths_.end() && event->len > 0) {
        const std::string& directory = path->second;
        changes.push_back(
            {kind_of(event->mask), (directory.ends_with('/') ? directory : directory + "/") + event->name});
      }
    }
  }
}

namespace {

std::string below(const std::string& directory, const char* name) {
  return directory.ends_with('/') ? directory + name : directory + "/" + name;
}

}  // namespace

bool is_skipped_name(std::string_view path) {
  const std::string_view name = path.substr(path.rfind('/') + 1);
  return name.starts_with('.') || name.ends_with(".tmp") || name.ends_with(".part") ||
         name.ends_with(".open");
}

std::string directory_of(const std::string& path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

Finder::Finder(FinderOptions options, Finds& finds) : options_(std::move(options)), finds_(finds) {
  struct stat info = {};
  for (const std::string& path : options_.left_out) {
    if (::stat(path.c_str(), &info) == 0) left_out_.emplace_back(info.st_dev, info.st_ino);
  }
}

bool Finder::is_left_out(const struct stat& info) const {
  return !left_out_.empty() &&
         std::find(left_out_.begin(), left_out_.end(),
                   std::pair<uint64_t, uint64_t>(info.st_dev, info.st_ino)) != left_out_.end();
}

absl::Status Finder::add(const std::string& path) {
  struct stat info = {};
  if (::stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode)) {
    std::string root = path;
    while (root.size() > 1 && root.ends_with('/')) root.pop_back();
    roots_.push_back(std::move(root));
    return absl::OkStatus();
  }
  const std::string parent = directory_of(path);
  if (::stat(parent.c_str(), &info) != 0) {
    return absl::NotFoundError(fmt::format("{}: there is neither a file nor its directory {}", path, parent));
  }
  named_.insert(path);
  return absl::OkStatus();
}

bool Finder::wants(const std::string& path) const {
  if (named_.contains(path)) return true;
  if (is_skipped_name(path)) return false;
  const std::string parent = directory_of(path);
  return below_.contains(parent) || std::find(roots_.begin(), roots_.end(), parent) != roots_.end();
}

void Finder::watch(const std::string& directory) {
  if (options_.poll || !watcher_.watch(directory)) polls_ = true;
}

// Watches each directory before listing it, so that changes during the search are reported.
void Finder::find_all() {
  const Clock::time_point start = Clock::now();
  lost_ = false;
  visited_.clear();
  for (const std::string& path : named_) {
    watch(directory_of(path));
    // The system does not report changes of a link's target.
    struct stat info = {};
    if (::lstat(path.c_str(), &info) == 0 && S_ISLNK(info.st_mode)) polls_ = true;
    look(path, Growth::unknown);
  }
  for (const std::string& root : roots_) directory(root);
  finds_.all_found();
  // Polling waits 20 times as long as a search takes, so large trees are not searched all the time.
  if (polls_)
    next_search_ =
        Clock::now() + std::max<Clock::duration>(options_.search_every, 20 * (Clock::now() - start));
}

void Finder::directory(const std::string& path) {
  struct stat info = {};
  if (::stat(path.c_str(), &info) != 0) {
    polls_ = true;  // its return will not be reported
    return;
  }
  if (is_left_out(info) || !visited_.emplace(info.st_dev, info.st_ino).second) return;
  watch(path);
  below_.insert(path);
  std::unique_ptr<DIR, int (*)(DIR*)> entries(::opendir(path.c_str()), ::closedir);
  if (!entries) return finds_.problem({path, 0, 0, fmt::format("{}: {}", path, system_cause())});
  std::vector<std::string> names;
  while (const dirent* entry = ::readdir(entries.get())) {
    if (entry->d_name[0] != '.') names.push_back(below(path, entry->d_name));
  }
  std::sort(names.begin(), names.end());
  for (const std::string& name : names) look(name, Growth::unknown);
}

void Finder::look(const std::string& path, Growth growth) {
  struct stat info = {};
  if (::stat(path.c_str(), &info) != 0) {
    settling_.erase(path);
    // A file that was renamed once more is still there; the system reports the ones that are deleted.
    finds_.gone(path, polls_ && errno == ENOENT);
    return;
  }
  if (S_ISDIR(info.st_mode)) {
    if (below_.contains(directory_of(path)) && !is_skipped_name(path)) directory(path);
    return;
  }
  if (!S_ISREG(info.st_mode) || !wants(path) || is_left_out(info)) return;
  // Unchanged for a while: its writer has finished.
  if (growth == Growth::unknown && info.st_size > 0 && since_change(info) >= options_.settle)
    growth = Growth::settled;
  if (finds_.found(path, info, growth)) {
    settling_.erase(path);
  } else {
    settle(path, info);
  }
}

void Finder::settle(const std::string& path, const struct stat& info) {
  const Clock::time_point then = Clock::now() + options_.settle;
  auto [entry, fresh] = settling_.try_emplace(path, Settling{info.st_size, info.st_mtim, then});
  if (fresh) return;
  Settling& known = entry->second;
  if (known.size == info.st_size && same_time(known.changed, info.st_mtim)) return;
  known = {info.st_size, info.st_mtim, then};
}

// A file that has not changed since settle() is complete. An empty file waits for content.
void Finder::look_at_settling() {
  const Clock::time_point now = Clock::now();
  std::vector<std::string> due;
  for (const auto& [path, settling] : settling_) {
    if (settling.look_again <= now) due.push_back(path);
  }
  std::sort(due.begin(), due.end());
  for (const std::string& path : due) {
    struct stat info = {};
    const Settling known = settling_.at(path);
    settling_.erase(path);
    const bool there = ::stat(path.c_str(), &info) == 0;
    const bool same = there && known.size == info.st_size && same_time(known.changed, info.st_mtim);
    if (there && info.st_size == 0) {
      // If the system reports changes, a write to the empty file will be one.
      if (polls_) settle(path, info);
      continue;
    }
    look(path, same ? Growth::settled : Growth::unknown);
  }
}

void Finder::notice() {
  changes_.clear();
  watcher_.take(changes_);
  for (const Change& change : changes_) {
    switch (change.kind) {
      case Change::Kind::lost:
        lost_ = true;
        break;
      case Change::Kind::directory:
        if (is_skipped_name(change.path) || !below_.contains(directory_of(change.path))) break;
        visited_.clear();
        directory(change.path);
        break;
      case Change::Kind::closed:
        look(change.path, Growth::closed);
        break;
      case Change::Kind::created:
        look(change.path, Growth::unknown);
        break;
      case Change::Kind::changed: {
        // A process is writing, and the system will report when it closes the file.
        settling_.erase(change.path);
        struct stat info = {};
        if (wants(change.path) && ::stat(change.path.c_str(), &info) == 0 && S_ISREG(info.st_mode) &&
            !is_left_out(info)) {
          finds_.found(change.path, info, Growth::unknown);
        }
        break;
      }
      case Change::Kind::moved:
      case Change::Kind::deleted:
        settling_.erase(change.path);
        if (wants(change.path)) finds_.gone(change.path, change.kind == Change::Kind::deleted);
        break;
    }
  }
  look_at_settling();
  if (lost_ || Clock::now() >= next_search_) find_all();
}

Finder::Clock::time_point Finder::next_look() const {
  Clock::time_point next = next_search_;
  for (const auto& [path, settling] : settling_) next = std::min(next, settling.look_again);
  return next;
}

}  // namespace doppel

#include "files/follow/watcher.h"

#include <sys/inotify.h>
#include <sys/vfs.h>

#include <algorithm>
#include <array>

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

}  // namespace doppel

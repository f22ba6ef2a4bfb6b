#include "simulation/disk.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <mutex>
#include <optional>
#include <sstream>
#include <string_view>
#include <vector>

namespace doppel::simulation {
namespace {

namespace fs = std::filesystem;
using Inode = ino_t;
using Listing = std::map<std::string, Inode>;

constexpr size_t kSector = 512;  // written as a whole or not at all

std::mutex mutex;
std::map<Inode, std::string> synced_files;
std::map<std::string, Listing> synced_directories;

std::string content_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

Inode inode_of(const std::string& path) {
  struct stat s{};
  return ::stat(path.c_str(), &s) == 0 ? s.st_ino : 0;
}

Listing files_in(const std::string& directory) {
  Listing out;
  for (const auto& entry : fs::directory_iterator(directory))
    if (entry.is_regular_file()) out[entry.path().filename()] = inode_of(entry.path());
  return out;
}

void note_synced(int fd) {
  struct stat s{};
  if (::fstat(fd, &s) != 0) return;
  const std::string self = "/proc/self/fd/" + std::to_string(fd);
  const std::lock_guard lock(mutex);
  if (S_ISDIR(s.st_mode)) {
    const std::string path = fs::read_symlink(self);
    synced_directories[path] = files_in(path);
  } else if (S_ISREG(s.st_mode)) {
    synced_files[s.st_ino] = content_of(self);
  }
}

// Each sector that was written since the last sync may have its old or its new content, in any order.
std::string torn(const std::string& synced, const std::string& now, Scheduler& dice) {
  std::string out = synced;
  out.resize(dice.below(2) == 0 ? now.size() : std::max(now.size(), synced.size()));
  for (size_t at = 0; at < now.size(); at += kSector) {
    const size_t end = std::min({at + kSector, now.size(), out.size()});
    if (at < end && dice.below(2) == 0)
      std::copy(now.begin() + static_cast<std::ptrdiff_t>(at), now.begin() + static_cast<std::ptrdiff_t>(end),
                out.begin() + static_cast<std::ptrdiff_t>(at));
  }
  return out;
}

}  // namespace

void lose_power(const std::string& directory, Scheduler& dice) {
  if (!fs::exists(directory)) return;
  for (const auto& entry : fs::directory_iterator(directory))
    if (entry.is_directory()) lose_power(entry.path(), dice);
  const std::lock_guard lock(mutex);
  const Listing now = files_in(directory);
  const Listing& names = dice.below(2) == 0 ? now : synced_directories[directory];
  std::map<Inode, std::string> contents;
  const std::string prefix = directory + "/";
  for (const auto& [name, inode] : now) contents[inode] = content_of(prefix + name);
  std::map<std::string, std::string> left;
  for (const auto& [name, inode] : names) {
    const std::string& synced = synced_files[inode];
    const auto found = contents.find(inode);
    const std::string& last = found == contents.end() ? synced : found->second;
    const uint64_t kind = dice.below(3);
    left[name] = kind == 0 ? synced : kind == 1 ? last : torn(synced, last, dice);
  }
  for (const auto& [name, inode] : now) fs::remove(prefix + name);
  for (const auto& [name, content] : left) {
    const std::string path = prefix + name;
    std::ofstream(path, std::ios::binary) << content;
    synced_files[inode_of(path)] = content;
  }
  synced_directories[directory] = files_in(directory);
}

void close_files_below(const std::string& directory) {
  DIR* fds = ::opendir("/proc/self/fd");
  std::vector<int> close;
  std::array<char, 4096> target{};
  while (const dirent* entry = ::readdir(fds)) {
    const int fd = std::atoi(entry->d_name);
    const ssize_t n =
        ::readlink(("/proc/self/fd/" + std::to_string(fd)).c_str(), target.data(), target.size());
    if (n > 0 && std::string_view(target.data(), static_cast<size_t>(n)).starts_with(directory + "/"))
      close.push_back(fd);
  }
  ::closedir(fds);
  for (const int fd : close) ::close(fd);
}

}  // namespace doppel::simulation

extern "C" int fdatasync(int fd) {
  doppel::simulation::note_synced(fd);
  return 0;
}

extern "C" int fsync(int fd) {
  doppel::simulation::note_synced(fd);
  return 0;
}

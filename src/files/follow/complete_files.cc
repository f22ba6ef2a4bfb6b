#include "files/follow/complete_files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/status.h"
#include "files/read/content.h"
#include "files/read/files_source.h"
#include "files/read/listing.h"
#include "files/warc/wacz.h"

namespace doppel {
namespace {

// Tells whether a file has changed since it was last taken.
uint64_t signature(const struct stat& info) {
  const uint64_t fields[] = {info.st_dev, info.st_ino, static_cast<uint64_t>(info.st_size),
                             static_cast<uint64_t>(info.st_mtim.tv_sec),
                             static_cast<uint64_t>(info.st_mtim.tv_nsec)};
  return XXH3_64bits(fields, sizeof fields);
}

uint64_t whole_mark_of(int fd, const struct stat& info) {
  std::array<char, kHeadBytes> head;
  const ssize_t got = ::pread(fd, head.data(), head.size(), 0);
  const auto size = static_cast<uint64_t>(info.st_size);
  return whole_mark(info.st_dev, info.st_ino, size,
                    {head.data(), std::min<size_t>(got < 0 ? 0 : static_cast<size_t>(got), size)});
}

}  // namespace

bool CompleteFiles::taken(uint64_t path_hash, const struct stat& info) const {
  const auto taken = taken_.find(path_hash);
  return taken != taken_.end() && taken->second == signature(info);
}

void CompleteFiles::forget_content(uint64_t path_hash) {
  uses_.position.forget_whole(path_hash);
  const auto lines = lines_at_.find(path_hash);
  if (lines == lines_at_.end()) return;
  for (const FileKey& key : lines->second) {
    if (!uses_.logs.knows(key)) uses_.position.forget_tail(key);
  }
  lines_at_.erase(lines);
}

bool CompleteFiles::take(const std::string& path, Batch& batch, std::vector<FollowJob>& next) {
  struct stat info = {};
  Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.ok() || ::fstat(fd.get(), &info) != 0) {
    if (errno != ENOENT) uses_.problem({path, 0, 0, fmt::format("{}: {}", path, system_cause())});
    return true;
  }
  if (take_wacz(path, fd.get(), info, next)) return true;
  const FilesSourceOptions& options = uses_.options;
  const uint64_t hash = FollowPosition::path_hash(path);
  InputFile file = describe_file(path, info, options.layout);
  look_inside(fd.get(), options, file);
  if (!file.refused.empty()) {
    uses_.problem({path, 0, 0, refusal_of(file)});
    taken_[hash] = signature(info);
    return true;
  }
  if (!batch.records.empty() && file.packing == Packing::none &&
      batch.bytes + file.size > options.batch_bytes) {
    return false;
  }
  taken_[hash] = signature(info);
  if (file.in_parts()) {
    take_lines(path, std::move(fd), std::move(file), next);
    return true;
  }
  FollowPosition& position = uses_.position;
  const uint64_t whole = whole_mark_of(fd.get(), info);
  if (position.knows_whole(whole)) {
    position.set_whole(hash, whole);  // it may have been renamed
    return true;
  }
  if (position.whole_at(hash) != 0) position.count_another(path);
  file.name = position.name_at(path);
  auto kept = std::make_shared<const InputFile>(std::move(file));
  uint64_t mark = 0;
  batch.memory.push_back(kept);
  read_whole_file(options, filling_, *kept, std::move(fd), uses_.counter, batch, mark);
  if (mark != 0) position.set_whole(hash, mark);
  return true;
}

// Continues behind what was read earlier, if the file still begins the same.
void CompleteFiles::take_lines(const std::string& on_disk, Fd fd, InputFile file,
                               std::vector<FollowJob>& next) {
  FollowPosition& position = uses_.position;
  const std::string path = file.shown();
  const FileKey key(file.device, file.inode);
  std::vector<FileKey>& keys = lines_at_[FollowPosition::path_hash(on_disk)];
  if (file.member.empty()) keys.clear();
  keys.push_back(key);
  LineMark mark = mark_of(fd.get(), file.part);
  const TailMark* known = position.tail(key);
  if (known != nullptr && is_file_of(fd.get(), file.as_stored(), known->mark, file.part)) {
    mark = known->mark;
    file.name = known->name;
    if (mark.path != path && !mark.path.empty()) {
      if (file.name.empty()) file.name = mark.path;
      position.count_another(mark.path);
      mark.path = path;
      position.set_tail({mark, file.name});
    }
    if (mark.disk_length == file.size) return;
  } else {
    if (known != nullptr && known->mark.path == path) position.count_another(path);
    file.name = position.name_at(path);
  }
  auto lines = std::make_shared<FollowedFile>(std::make_shared<const InputFile>(std::move(file)), path,
                                              std::move(fd), mark, false);
  uses_.logs.add_complete(lines);
  lines->queued = true;
  next.push_back({"", lines});
}

// Returns false if it is not a WACZ file.
bool CompleteFiles::take_wacz(const std::string& path, int fd, const struct stat& info,
                              std::vector<FollowJob>& next) {
  if (uses_.options.layout != Layout::automatic || (!is_wacz_name(path) && !uses_.finder.is_named(path)))
    return false;
  absl::StatusOr<Wacz> inside = look_into_wacz(fd, path, info);
  if (inside.ok() && inside->files.empty() && inside->problems.empty()) return false;
  const uint64_t hash = FollowPosition::path_hash(path);
  taken_[hash] = signature(info);
  lines_at_.erase(hash);
  if (!inside.ok()) {
    uses_.problem({path, 0, 0, std::string(std_sv(inside.status().message()))});
    return true;
  }
  for (Problem& found : inside->problems) uses_.problem(std::move(found));
  for (InputFile& file : inside->files)
    next.push_back({path, nullptr, std::make_shared<const InputFile>(std::move(file))});
  return true;
}

void CompleteFiles::take_inside(const InputFile& file, std::vector<FollowJob>& next) {
  struct stat info = {};
  Fd fd(::open(file.path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.ok() || ::fstat(fd.get(), &info) != 0 || inode_of(info.st_ino, file.part) != file.inode) {
    uses_.problem({file.path, 0, 0, fmt::format("{}: the WACZ file is gone or was replaced", file.shown())});
    return;
  }
  InputFile seen = file;
  look_inside(fd.get(), uses_.options, seen);
  if (!seen.refused.empty()) {
    uses_.problem({seen.path, 0, 0, refusal_of(seen)});
    return;
  }
  take_lines(file.path, std::move(fd), std::move(seen), next);
}

std::vector<FileKey> CompleteFiles::keys_inside(const std::string& path, const struct stat& info) const {
  std::vector<FileKey> keys;
  if (!is_wacz_name(path) && !uses_.finder.is_named(path)) return keys;
  const Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  const absl::StatusOr<Wacz> inside = look_into_wacz(fd.get(), path, info);
  if (!inside.ok()) return keys;
  for (const InputFile& file : inside->files) keys.emplace_back(file.device, file.inode);
  return keys;
}

}  // namespace doppel

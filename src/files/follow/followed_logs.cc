#include "files/follow/followed_logs.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/status.h"
#include "files/follow/finder.h"
#include "files/read/content.h"
#include "files/read/line_reader.h"
#include "files/read/listing.h"
#include "files/read/signed_reader.h"
#include "files/warc/wacz.h"
#include "files/warc/warc_reader.h"

namespace doppel {
namespace {

// Two writes within one tick of the file system's clock leave the same modification time.
constexpr auto kTick = std::chrono::milliseconds(20);

}  // namespace

FollowedFile::FollowedFile(std::shared_ptr<const InputFile> file, std::string path, Fd fd, LineMark mark,
                           bool live)
    : file_(std::move(file)),
      path_(std::move(path)),
      fd_(std::move(fd)),
      mark_(std::move(mark)),
      live_(live) {}

bool FollowedFile::was_cut() {
  if (file_->pipe) return false;
  struct stat info = {};
  looked_at_.reset();
  if (::fstat(fd_.get(), &info) == 0 && since_change(info) > kTick) looked_at_ = info.st_mtim;
  return !is_file_of(fd_.get(), file_->as_stored(), mark_, file_->part);
}

bool FollowedFile::has_more() const {
  struct stat info = {};
  return ::fstat(fd_.get(), &info) == 0 && is_unread(info);
}

bool FollowedFile::may_differ() const {
  struct stat info = {};
  return ::fstat(fd_.get(), &info) == 0 &&
         (is_unread(info) || !looked_at_ || !same_time(*looked_at_, info.st_mtim));
}

bool FollowedFile::is_unread(const struct stat& info) const {
  return static_cast<uint64_t>(info.st_size) != mark_.offset + (reader_ ? reader_->open_bytes() : 0);
}

LineReader::State FollowedFile::take(const FilesSourceOptions& options, const ByteCounter& counter,
                                     Batch& batch) {
  struct stat info = {};
  if (reader_ && !file_->pipe && file_->packing == Packing::none && ::fstat(fd_.get(), &info) == 0 &&
      static_cast<uint64_t>(info.st_size) < mark_.offset + reader_->open_bytes()) {
    forget_reader();  // the open line was truncated
  }
  if (file_->pipe && !looked_inside_) {
    pollfd waiting{fd_.get(), POLLIN, 0};
    if (::poll(&waiting, 1, 0) == 0) return LineReader::State::waiting;
    looked_inside_ = true;
    InputFile seen = *file_;
    look_inside_pipe(fd_.get(), options, seen);
    file_ = std::make_shared<const InputFile>(std::move(seen));
    if (!file_->refused.empty()) {
      batch.problems.push_back({path_, 0, 0, fmt::format("{}: {}", path_, file_->refused)});
      return LineReader::State::ended;
    }
  }
  if (!reader_) {
    if (!file_->pipe) ::lseek(fd_.get(), 0, SEEK_SET);
    if (!filling_) filling_ = std::make_unique<Filling>(options.buffer_bytes);
    if (file_->kind == InputKind::signed_records) {
      reader_ =
          std::make_unique<SignedReader>(options, *filling_, *file_, Fd(::dup(fd_.get())), counter, mark_);
    } else if (file_->archive()) {
      reader_ =
          std::make_unique<WarcReader>(options, *filling_, *file_, Fd(::dup(fd_.get())), counter, mark_);
    } else if (file_->kind == InputKind::mbox) {
      reader_ =
          std::make_unique<MboxReader>(options, *filling_, *file_, Fd(::dup(fd_.get())), counter, mark_);
    } else {
      reader_ = std::make_unique<LineReader>(options, *filling_, *file_, Fd(::dup(fd_.get())), counter, mark_,
                                             live_ && !finishing_);
    }
  }
  const size_t before = batch.records.size();
  const LineReader::State state = reader_->take(batch);
  LineMark now = reader_->mark();
  now.head_length = mark_.head_length;
  now.head_hash = mark_.head_hash;
  mark_ = std::move(now);
  if (batch.records.size() > before) batch.memory.push_back(file_);
  filling_->seal();
  if (file_->pipe) return state;
  refresh_head();
  if (state != LineReader::State::full && !has_open_line()) {
    if (state == LineReader::State::waiting) mark_.disk_length = mark_.offset;
    forget_reader();
  }
  return state;
}

void FollowedFile::finish() {
  finishing_ = true;
  if (reader_) reader_->finish();
}

void FollowedFile::moved_to(std::string path) { path_ = std::move(path); }

TailMark FollowedFile::mark() const {
  TailMark out{mark_, file_->source()};
  out.mark.path = path_;
  return out;
}

// A file that was short when it was opened is identified by more bytes once they have been read.
void FollowedFile::refresh_head() {
  const size_t length = std::min<uint64_t>(mark_.offset, kHeadBytes);
  if (file_->packing != Packing::none || mark_.head_length >= length) return;
  std::array<char, kHeadBytes> head;
  if (::pread(fd_.get(), head.data(), length, 0) != static_cast<ssize_t>(length)) return;
  mark_.head_length = length;
  mark_.head_hash = hash_of_head({head.data(), length});
}

void FollowedFile::forget_reader() {
  reader_.reset();
  filling_.reset();
}

namespace {

using Clock = std::chrono::steady_clock;
using File = FollowedLogs::File;

bool is_at(const std::string& path, const FileKey& key) {
  struct stat info = {};
  return ::stat(path.c_str(), &info) == 0 && FileKey(info.st_dev, info.st_ino) == key;
}

// The rest of a log's earlier file comes before the later one.
void wait_for(const File& before, const File& file) {
  if (before == nullptr || !(before->queued || before->waits) || file->queued || file->waits) return;
  before->successor = file;
  file->waits = true;
}

// Removes the file from its path, unless another file has that path now.
void take_from_path(absl::flat_hash_map<std::string, File>& by_path, const File& file) {
  if (auto at = by_path.find(file->path()); at != by_path.end() && at->second == file) by_path.erase(at);
}

Problem cut(const std::string& path, const LineMark& mark) {
  return make_problem(
      path, mark.lines, mark.offset,
      "the file was truncated or overwritten; doppel reads it again from its start, as a new one");
}

}  // namespace

std::shared_ptr<InputFile> lines_file(const std::string& path, std::string name) {
  auto file = std::make_shared<InputFile>();
  file->path = path;
  file->name = std::move(name);
  file->kind = InputKind::lines;
  return file;
}

bool FollowedLogs::found(const FileKey& key, const std::string& path) {
  const auto known = files_.find(key);
  if (known == files_.end()) return false;
  const File file = known->second;
  if (file->path() != path || file->leaving) move(file, path);
  if (file->may_differ()) enqueue_(file);
  return true;
}

absl::Status FollowedLogs::follow(const std::string& path) {
  Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.ok()) return errno == ENOENT ? absl::OkStatus() : io_error(path);
  LineMark mark = mark_of(fd.get());
  const FileKey key(mark.device, mark.inode);
  if (files_.contains(key)) return absl::OkStatus();
  const TailMark* known = position_.tail(key);  // of this file: another one may have been here before
  File before;
  if (auto at = at_.find(path); at != at_.end()) {
    before = at->second;
    leave(before);
  } else if (auto left = left_.find(path); left != left_.end()) {
    before = left->second;
  }
  if (before != nullptr && !finder_.is_named(path)) position_.count_another(path);
  std::string name;
  if (known != nullptr && is_file_of(fd.get(), true, known->mark)) {
    mark = known->mark;
    name = known->name.empty() ? path : known->name;
  } else {
    if (known != nullptr) {
      problems_.push_back(cut(path, known->mark));
      position_.count_another(path);
    }
    name = position_.name_at(path);
  }
  auto file =
      std::make_shared<FollowedFile>(lines_file(path, std::move(name)), path, std::move(fd), mark, true);
  if (known != nullptr) position_.set_tail(file->mark());
  files_[key] = file;
  at_[path] = file;
  wait_for(before, file);
  enqueue_(file);
  return absl::OkStatus();
}

bool FollowedLogs::gone(const std::string& path) {
  const auto at = at_.find(path);
  if (at == at_.end()) return false;
  // An older file may have gone, with the next one already in its place.
  const File file = at->second;
  if (!is_at(path, file->key())) leave(file);
  return true;
}

void FollowedLogs::look_at_paths() {
  std::vector<File> missing;
  for (const auto& [path, file] : at_) {
    if (!is_at(path, file->key())) missing.push_back(file);
  }
  for (const File& file : missing) leave(file);
}

void FollowedLogs::look_at_leaving() {
  const Clock::time_point now = Clock::now();
  for (size_t i = 0; i < leaving_.size();) {
    const File file = leaving_[i++];
    if (file->queued || file->waits) continue;
    if (file->has_more()) {
      file->quiet_since = now;
      enqueue_(file);
    } else if (now - file->quiet_since >= settle_) {
      --i;
      leaving_.erase(leaving_.begin() + static_cast<ptrdiff_t>(i));
      file->finish();
      if (file->has_open_line()) {
        enqueue_(file);
      } else {
        drop(file);
      }
    }
  }
}

void FollowedLogs::find_moved() {
  std::vector<TailMark> moved;
  for (const auto& [key, tail] : position_.tails()) {
    if (!tail.mark.path.empty() && !is_at(tail.mark.path, key) &&
        !is_in_wacz(tail.mark.path, key.first, key.second))
      moved.push_back(tail);
  }
  // Names grow with age (log, log~1, log~10), so this puts the oldest file of a log first.
  std::sort(moved.begin(), moved.end(), [](const TailMark& a, const TailMark& b) {
    return std::pair(a.name.size(), a.name) < std::pair(b.name.size(), b.name);
  });
  for (const TailMark& tail : moved) {
    position_.count_another(tail.mark.path);
    const std::string directory = directory_of(tail.mark.path);
    std::string_view name = tail.mark.path;
    const Packing packing = packing_of(name);
    std::unique_ptr<DIR, int (*)(DIR*)> entries(::opendir(directory.c_str()), ::closedir);
    while (const dirent* entry = entries ? ::readdir(entries.get()) : nullptr) {
      if (entry->d_ino != tail.mark.inode) continue;
      const std::string path = directory + "/" + entry->d_name;
      Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
      if (finder_.wants(path) || !fd.ok() || !is_file_of(fd.get(), packing == Packing::none, tail.mark))
        continue;
      auto file = std::make_shared<FollowedFile>(lines_file(tail.mark.path, tail.name), tail.mark.path,
                                                 std::move(fd), tail.mark, true);
      files_[file->key()] = file;
      leave(file, false);
      break;
    }
  }
}

File FollowedLogs::read_anew(const File& file) {
  problems_.push_back(cut(file->path(), file->mark().mark));
  position_.count_another(file->path());
  auto renewed =
      std::make_shared<FollowedFile>(lines_file(file->path(), position_.name_at(file->path())), file->path(),
                                     Fd(::dup(file->fd())), mark_of(file->fd()), true);
  renewed->successor = std::move(file->successor);
  renewed->leaving = file->leaving;
  renewed->queued = true;
  files_[file->key()] = renewed;
  for (auto* places : {&at_, &left_}) {
    if (auto at = places->find(file->path()); at != places->end() && at->second == file) at->second = renewed;
  }
  std::replace(leaving_.begin(), leaving_.end(), file, File(renewed));
  position_.set_tail(renewed->mark());
  return renewed;
}

void FollowedLogs::done(const File& file) {
  if (file->leaving) return drop(file);
  take_from_path(at_, file);
  files_.erase(file->key());
}

void FollowedLogs::move(const File& file, const std::string& path) {
  take_from_path(at_, file);
  take_from_path(left_, file);
  if (auto at = at_.find(path); at != at_.end()) leave(File(at->second));
  // Its events keep the old name, so no other file may get that.
  if (!finder_.is_named(file->path()) || !file->leaving) position_.count_another(file->path());
  file->moved_to(path);
  file->leaving = false;
  std::erase(leaving_, file);
  at_[path] = file;
}

// The file is no longer under its path: it is read until nothing has come for a while.
void FollowedLogs::leave(const File& file, bool counts) {
  take_from_path(at_, file);
  if (file->leaving) return;
  file->leaving = true;
  file->quiet_since = Clock::now();
  leaving_.push_back(file);
  wait_for(std::exchange(left_[file->path()], file), file);
  if (counts && finder_.is_named(file->path())) position_.count_another(file->path());
  enqueue_(file);
}

void FollowedLogs::drop(const File& file) {
  take_from_path(at_, file);
  take_from_path(left_, file);
  files_.erase(file->key());
  position_.forget_tail(file->key());
}

}  // namespace doppel

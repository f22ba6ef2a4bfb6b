#include "files/follow/followed_file.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <utility>

#include "files/follow/changed.h"
#include "files/read/content.h"
#include "files/read/resume.h"
#include "files/read/signed_reader.h"
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

}  // namespace doppel

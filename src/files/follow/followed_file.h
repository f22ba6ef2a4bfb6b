#pragma once
// One file of lines that is followed: its position, and reading on from there.

#include <sys/stat.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "files/follow_position.h"
#include "files/read/line_reader.h"

namespace doppel {

class FollowedFile {
 public:
  // `file` names the source of its records. live: it may grow; else it is read to its end, once.
  FollowedFile(std::shared_ptr<const InputFile> file, std::string path, Fd fd, LineMark mark, bool live);

  // What FollowSource plans with.
  bool queued = false;
  bool waits = false;    // for the file that had its path before
  bool leaving = false;  // not under its path any more
  std::chrono::steady_clock::time_point quiet_since;
  std::shared_ptr<FollowedFile> successor;

  // Whether the open file is shorter than what was read, or another one by its head. Remembers when it had
  // changed, for may_differ().
  bool was_cut();
  // Whether there are bytes that were not read.
  bool has_more() const;
  // Whether somebody wrote to it since was_cut() looked: has_more(), or as many bytes that may be others.
  bool may_differ() const;
  // Adds records to the batch. A live file: `waiting` at its end.
  LineReader::State take(const FilesSourceOptions& options, const ByteCounter& counter, Batch& batch);
  // It does not grow any more: take() gives the rest, also a line without an end, and ends.
  void finish();
  bool has_open_line() const { return reader_ != nullptr && reader_->open_bytes() > 0; }

  FileKey key() const { return {mark_.device, mark_.inode}; }
  const std::string& path() const { return path_; }
  void moved_to(std::string path);
  const InputFile& file() const { return *file_; }
  bool live() const { return live_; }
  int fd() const { return fd_.get(); }
  TailMark mark() const;

 private:
  bool is_unread(const struct stat& info) const;
  void refresh_head();
  void forget_reader();

  std::shared_ptr<const InputFile> file_;
  std::string path_;
  Fd fd_;
  LineMark mark_;
  bool live_;
  std::optional<timespec> looked_at_;  // its time of change when was_cut() looked; none: look again
  bool finishing_ = false;
  bool looked_inside_ = false;  // a pipe: by its first bytes
  std::unique_ptr<Filling> filling_;
  std::unique_ptr<RecordReader> reader_;  // while there is something to read, or half a line
};

}  // namespace doppel

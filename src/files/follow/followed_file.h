#pragma once
// One followed file of lines: its position, and reading from there.

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
  // `file` names the source of its records. live: the file may grow; otherwise it is read to its end, once.
  FollowedFile(std::shared_ptr<const InputFile> file, std::string path, Fd fd, LineMark mark, bool live);

  // State of FollowSource and FollowedLogs:
  bool queued = false;
  bool waits = false;    // for the file that had its path before
  bool leaving = false;  // no longer under its path
  std::chrono::steady_clock::time_point quiet_since;
  std::shared_ptr<FollowedFile> successor;

  // Whether the open file is shorter than what was read, or its head has changed. Remembers its
  // modification time for may_differ().
  bool was_cut();
  // Whether there are unread bytes.
  bool has_more() const;
  // Whether the file may have been written to since was_cut(): has_more(), or another modification time.
  bool may_differ() const;
  // Adds records to the batch. Returns `waiting` at the end of a live file.
  LineReader::State take(const FilesSourceOptions& options, const ByteCounter& counter, Batch& batch);
  // The file no longer grows: take() returns the rest, including a line without a line feed, and ends.
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
  std::optional<timespec> looked_at_;  // modification time that was_cut() saw; none: look again
  bool finishing_ = false;
  bool looked_inside_ = false;  // of a pipe: its first bytes were examined
  std::unique_ptr<Filling> filling_;
  std::unique_ptr<RecordReader> reader_;  // while there is something to read, or half a line
};

}  // namespace doppel

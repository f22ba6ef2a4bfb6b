#pragma once
// The followed files of lines: which file has which path, which were renamed (a rotated log) and are read
// to their end, and in which order. A log's earlier file is read to its end before its successor under the
// old name. A truncated file is read again from its start, under a new name in events.

#include <sys/stat.h>

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "files/follow/finder.h"
#include "files/position.h"
#include "files/read/line_reader.h"

namespace doppel {

// One followed file of lines: its position, and reading from there.
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

std::shared_ptr<InputFile> lines_file(const std::string& path, std::string name);

class FollowedLogs {
 public:
  using File = std::shared_ptr<FollowedFile>;

  // `finder`, `position` and `problems` belong to the caller and must outlive this object. `enqueue` receives
  // files with something to read; it ignores files that are queued or wait for another file.
  FollowedLogs(std::chrono::milliseconds settle, const Finder& finder, FollowPosition& position,
               std::vector<Problem>& problems, std::function<void(const File&)> enqueue)
      : settle_(settle),
        finder_(finder),
        position_(position),
        problems_(problems),
        enqueue_(std::move(enqueue)) {}

  bool knows(const FileKey& key) const { return files_.contains(key); }
  // A file was found under this path, or written to. Returns false if the file is not known.
  bool found(const FileKey& key, const std::string& path);
  // Starts to follow the file that is under this path now, from where an earlier run read it to. It is an
  // error if the file cannot be opened.
  absl::Status follow(const std::string& path);
  // Call it when a path may have lost its file. If the path's log is no longer there, the log leaves the
  // path. Returns false if no followed log has this path.
  bool gone(const std::string& path);
  // Finds the files that are no longer under their paths, and makes them leave.
  void look_at_paths();
  // Among the files that left: enqueues those with more to read, and finishes those that were quiet for
  // long enough.
  void look_at_leaving();
  // Call it at the start: finds files that were rotated between two runs to a name that is not followed.
  // The rest of such a file is read before its successor.
  void find_moved();

  // Adds a file of lines that does not grow; done() removes it.
  void add_complete(const File& file) { files_[file->key()] = file; }
  // Replaces a truncated file by the same file from its start.
  File read_anew(const File& file);
  // The file was read to its end: it was complete or damaged, or has been quiet for long since it left.
  void done(const File& file);

 private:
  void move(const File& file, const std::string& path);
  void leave(const File& file, bool counts = true);
  void drop(const File& file);

  const std::chrono::milliseconds settle_;
  const Finder& finder_;
  FollowPosition& position_;
  std::vector<Problem>& problems_;
  const std::function<void(const File&)> enqueue_;
  absl::flat_hash_map<FileKey, File> files_;
  absl::flat_hash_map<std::string, File> at_;    // by path, while they are there
  absl::flat_hash_map<std::string, File> left_;  // by path: the last file that left it and is not done
  std::vector<File> leaving_;
};

}  // namespace doppel

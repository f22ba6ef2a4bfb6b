#pragma once
// Finds files as they come and go, in directory trees and under given names. Events of the system tell where
// to look. Without events, the finder lists everything each second, or less often if that takes long.

#include <sys/stat.h>

#include <chrono>
#include <ctime>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "files/byte_stream.h"
#include "pipeline/stream.h"

namespace doppel {

// Changes in directories, as the system reports them (inotify). Events are hints: the receiver must look at
// the file itself.
struct Change {
  enum class Kind {
    closed,   // a file is complete: its writer closed it, or it was moved here
    created,  // a name appeared; its file may still be empty
    changed,  // bytes were written
    moved,    // moved away, perhaps to another name
    deleted,
    directory,
    lost,  // events were lost, or a watched directory is gone: search everything again
  };
  Kind kind;
  std::string path;
};

class Watcher {
 public:
  Watcher();
  // Returns false if the system will not report changes in this directory (limit of watches, network file
  // system).
  bool watch(const std::string& directory);
  // Appends what has happened since the last call; never waits.
  void take(std::vector<Change>& changes);
  int fd() const { return fd_.get(); }  // readable when there are changes to take

 private:
  Fd fd_;
  absl::flat_hash_map<int, std::string> paths_;  // by watch descriptor
};

// When a file was last changed.
inline bool same_time(const timespec& a, const timespec& b) {
  return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

// Negative if the file's clock is ahead of ours.
inline std::chrono::nanoseconds since_change(const struct stat& info) {
  timespec now = {};
  ::clock_gettime(CLOCK_REALTIME, &now);
  return std::chrono::seconds(now.tv_sec - info.st_mtim.tv_sec) +
         std::chrono::nanoseconds(now.tv_nsec - info.st_mtim.tv_nsec);
}

// Whether a file that was found is complete.
enum class Growth {
  unknown,  // a process may still be writing it
  settled,  // it has not changed for a while
  closed,   // a process has just closed it, or it was moved here
};

// Receives the files.
class Finds {
 public:
  virtual ~Finds() = default;
  // Reports a regular file that is new, or may have more to read. Return false to hear of it again when it
  // is complete.
  virtual bool found(const std::string& path, const struct stat& info, Growth growth) = 0;
  // Reports that no file has this path any more. for_good: it was deleted, not moved.
  virtual void gone(const std::string& path, bool for_good) = 0;
  // Reports the end of a search: every existing file has been reported.
  virtual void all_found() = 0;
  virtual void problem(Problem problem) = 0;
};

struct FinderOptions {
  // If the system reports nothing, a file counts as complete when it has not changed for this long.
  std::chrono::milliseconds settle{1000};
  bool poll = false;  // behaves as if the system reported nothing
  // Shortest time between two searches if the system reports nothing.
  std::chrono::milliseconds search_every{1000};
  std::vector<std::string> left_out;  // files and directories that are never reported
};

class Finder {
 public:
  using Clock = std::chrono::steady_clock;
  // `finds` must outlive the finder.
  Finder(FinderOptions options, Finds& finds);

  // Adds a directory, or a file, which need not exist yet if its directory does.
  absl::Status add(const std::string& path);
  // Whether a file of this path would be reported if it existed.
  bool wants(const std::string& path) const;
  bool is_named(const std::string& path) const { return named_.contains(path); }
  // Reports all existing files. Call it at the start, after all add().
  void find_all();
  // Reports what has happened since the last call; never waits.
  void notice();
  // When to call notice() again even if fd() has no data.
  Clock::time_point next_look() const;
  int fd() const { return watcher_.fd(); }
  bool polls() const { return polls_; }  // the system does not report all changes

 private:
  struct Settling {
    off_t size;
    timespec changed;
    Clock::time_point look_again;
  };
  void directory(const std::string& path);
  void look(const std::string& path, Growth growth);
  void settle(const std::string& path, const struct stat& info);
  void look_at_settling();
  void watch(const std::string& directory);
  bool is_left_out(const struct stat& info) const;

  FinderOptions options_;
  Finds& finds_;
  Watcher watcher_;
  std::vector<std::string> roots_;                              // directories that were added
  absl::flat_hash_set<std::string> named_;                      // files that were added
  absl::flat_hash_set<std::string> below_;                      // directories whose files are wanted
  absl::flat_hash_set<std::pair<uint64_t, uint64_t>> visited_;  // in the current search; stops loops of links
  absl::flat_hash_map<std::string, Settling> settling_;
  std::vector<std::pair<uint64_t, uint64_t>> left_out_;
  std::vector<Change> changes_;
  bool polls_ = false;  // the system does not report changes in some directory
  bool lost_ = false;
  Clock::time_point next_search_ = Clock::time_point::max();
};

// Whether a file is incomplete or not meant for us by its name: hidden, .tmp, .part, .open.
bool is_skipped_name(std::string_view path);
std::string directory_of(const std::string& path);

}  // namespace doppel

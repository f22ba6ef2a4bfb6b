#pragma once
// Finds files as they come and go: in directories (and what is below them), and under names that were given.
// The system's events say where to look; where there are none, everything is listed again each second.

#include <sys/stat.h>

#include <chrono>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "files/follow/watcher.h"
#include "pipeline/stream.h"

namespace doppel {

// What is known of a file that was found.
enum class Growth {
  unknown,  // somebody may be writing to it
  settled,  // it has not changed for a while
  closed,   // somebody has just finished it
};

// The receiver of the files.
class Finds {
 public:
  virtual ~Finds() = default;
  // There is a regular file, or there may be more in it. False: come again when it is complete.
  virtual bool found(const std::string& path, const struct stat& info, Growth growth) = 0;
  // There is none any more; for_good: it was not moved.
  virtual void gone(const std::string& path, bool for_good) = 0;
  // Everything there is has been found.
  virtual void all_found() = 0;
  virtual void problem(Problem problem) = 0;
};

struct FinderOptions {
  // Without a report from the system, a file counts as complete when it has not changed for this long.
  std::chrono::milliseconds settle{1000};
  bool poll = false;                             // as if the system reported nothing
  std::chrono::milliseconds search_every{1000};  // at most so often, if the system reports nothing
  std::vector<std::string> left_out;             // files and directories that are never found
};

class Finder {
 public:
  using Clock = std::chrono::steady_clock;
  // `finds` outlives the finder.
  Finder(FinderOptions options, Finds& finds);

  // A directory, or a file, which may be missing yet if its directory is not.
  absl::Status add(const std::string& path);
  // Whether the file of this path would be found if it were there.
  bool wants(const std::string& path) const;
  bool is_named(const std::string& path) const { return named_.contains(path); }
  // Finds all there is. At the start, after all were added.
  void find_all();
  // Notices what has happened since; never waits.
  void notice();
  // Until then nothing happens without a signal on fd().
  Clock::time_point next_look() const;
  int fd() const { return watcher_.fd(); }

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
  std::vector<std::string> roots_;                              // directories that were given
  absl::flat_hash_set<std::string> named_;                      // files that were given
  absl::flat_hash_set<std::string> below_;                      // directories whose files are wanted
  absl::flat_hash_set<std::pair<uint64_t, uint64_t>> visited_;  // of one search, so that links cannot loop
  absl::flat_hash_map<std::string, Settling> settling_;
  std::vector<std::pair<uint64_t, uint64_t>> left_out_;
  std::vector<Change> changes_;
  bool polls_ = false;  // the system does not report some directory's changes
  bool lost_ = false;
  Clock::time_point next_search_ = Clock::time_point::max();
};

// Names of files that are not complete, or not meant for us: hidden, .tmp, .part, .open.
bool is_skipped_name(std::string_view path);
std::string directory_of(const std::string& path);

}  // namespace doppel

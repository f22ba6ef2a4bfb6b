#pragma once
// Changes in directories, as the system reports them (inotify). Events are hints: the receiver must look at
// the file itself.

#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "files/fd.h"

namespace doppel {

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

}  // namespace doppel

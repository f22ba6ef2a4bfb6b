#pragma once
// Changes in directories, as the system reports them (inotify). Events are hints: the receiver of one looks
// at the file itself.

#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "files/fd.h"

namespace doppel {

struct Change {
  enum class Kind {
    closed,     // a file is complete: closed after it was written, or moved here
    created,    // a name appeared; its file may still be empty
    changed,    // bytes were written
    moved,      // gone from here, perhaps to another name
    deleted,    // gone for good
    directory,  // a directory appeared
    lost,       // events were lost, or a watched directory has gone: look at everything again
  };
  Kind kind;
  std::string path;
};

class Watcher {
 public:
  Watcher();
  // False: the system will not report changes in this directory (the limit of watches, a network file
  // system).
  bool watch(const std::string& directory);
  // What has happened since; never waits.
  void take(std::vector<Change>& changes);
  int fd() const { return fd_.get(); }  // readable when there is something to take

 private:
  Fd fd_;
  absl::flat_hash_map<int, std::string> paths_;  // by watch descriptor
};

}  // namespace doppel

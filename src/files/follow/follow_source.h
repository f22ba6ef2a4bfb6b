#pragma once
// Files as a stream without an end: directories into which documents are dropped, JSONL files that grow and
// are rotated, stdin.
//
//   * Files named .jsonl or .ndjson, and files of lines given by name, are followed as they grow. A line
//     counts once it has a line feed. A renamed file is read to its end before its successor under the old
//     name. A truncated file is read again from its start, and a Problem says so.
//   * All other files (one document each, .json, compressed ones) are read once they are complete: closed
//     by their writer, moved here, or unchanged for a while if the system reports nothing.
//   * Files that are hidden or end in .tmp, .part or .open are ignored until they are renamed.
//
// Files are identified by device, inode and the hash of their head, so a renamed file is not read twice. A
// deleted file is forgotten. If a path belonged to an earlier file, events call the new file PATH~1, PATH~2
// and so on, which keeps ids unique. Only a deleted document passes its path on.

#include <chrono>
#include <memory>
#include <string_view>

#include "absl/status/statusor.h"
#include "files/follow/finder.h"
#include "files/read/files_source.h"
#include "pipeline/stream.h"

namespace doppel {

struct FollowOptions {
  FilesSourceOptions files;
  FinderOptions finder;
  // An eventfd (not owned). When somebody writes to it, the next() that waits returns at once, if with an
  // empty batch.
  int bell = -1;
};

// `position` comes from an earlier run, which may have used open_files_source(), or is empty. The source is
// live; it ends only if stdin is its only input. It is an error if there is nothing to follow or the position
// is damaged.
absl::StatusOr<std::unique_ptr<Source>> open_follow_source(const FollowOptions& options,
                                                           std::string_view position);

}  // namespace doppel

#pragma once
// Files as a stream that does not end: directories into which documents are dropped, JSONL files that grow
// and are rotated, stdin.
//
//   * Files named .jsonl or .ndjson, and files given by name that are lines, are followed as they grow. A
//   line
//     counts when its end is there. A file that was renamed away is read to its end before its successor
//     under the old name; one that was cut is read again from its start, and that is said.
//   * All other files (one document each, .json, compressed ones) are taken when they are complete: closed
//     after they were written, moved here, or unchanged for a while if the system reports nothing.
//   * Names that are hidden or end in .tmp, .part or .open are left alone until they are renamed.
//
// Files are known by device, inode and the hash of their head, so none is read twice when it is renamed. A
// deleted file is forgotten. What comes under a path that an earlier file had is called PATH~1, PATH~2 ... in
// events, so that their ids stay unique; only a document that was deleted may give its path to another.

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
};

// `position`: what an earlier run committed, or one of open_files_source(), or empty. The source is live; it
// ends only where all there is to read is stdin. An error: nothing to follow, a damaged position.
absl::StatusOr<std::unique_ptr<Source>> open_follow_source(const FollowOptions& options,
                                                           std::string_view position);

}  // namespace doppel

#pragma once
// Files as a stream: JSONL line by line, Parquet row by row, other files as one document each, in one fixed
// order.

#include <memory>
#include <string_view>

#include "absl/status/statusor.h"
#include "files/options.h"
#include "pipeline/stream.h"

namespace doppel {

// `position` is what an earlier run committed, or empty. A file that was read to its end and has not grown is
// skipped; one that has grown continues; one whose identity (device, inode, hash of the first 4 KiB) changed
// is read from its start as a new file. Offsets in compressed files count decompressed bytes. Files are found
// again by identity, so one that was renamed is not read twice; a path given twice is read twice. Of a grown
// file whose last line had no end, the whole line comes again if it has become longer. Files read by earlier
// runs stay known when they are not among the paths. Pipes and stdin have no identity: they are read from
// their current place. An error: a path that does not exist, nothing to read, a damaged position.
absl::StatusOr<std::unique_ptr<Source>> open_files_source(const FilesSourceOptions& options,
                                                          std::string_view position);

}  // namespace doppel

#pragma once
// Files as a Source: JSONL line by line, WARC files record by record, tables row by row, other files as one
// document each, in one fixed order.

#include <memory>
#include <string_view>

#include "absl/status/statusor.h"
#include "files/options.h"
#include "pipeline/stream.h"

namespace doppel {

// `position` is an earlier run's, or empty. A file that was read to its end and has not grown is skipped. One
// that has grown continues. One whose identity (device, inode, hash of the first 4 KiB) has changed is read
// from its start as a new file. Files are recognised by identity, so a renamed file is not read twice; a path
// given twice is. If the last line of a grown file had no line feed and is longer now, the whole line is read
// again. Files of earlier runs stay known even if they are not among the paths. Pipes and stdin have no
// identity: they are read from their current place. Offsets in compressed files count decompressed bytes. It
// is an error if a path does not exist, there is nothing to read, or the position is damaged.
absl::StatusOr<std::unique_ptr<Source>> open_files_source(const FilesSourceOptions& options,
                                                          std::string_view position);

}  // namespace doppel

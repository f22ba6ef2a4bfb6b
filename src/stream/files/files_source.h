#pragma once
// Files as a stream: JSONL line by line, other files as one document each, in one fixed order.

#include <functional>
#include <string>
#include <vector>

#include "stream/stream.h"

namespace doppel {

struct FilesSourceOptions {
  // Files, directories (walked recursively, entries in byte order of their path; hidden ones skipped, links
  // followed unless they lead back into themselves), pipes, or "-" for stdin.
  std::vector<std::string> paths;
  // "lines": every file is lines, one document each. "whole": every file is one document. "auto": by the
  // name: .jsonl .ndjson .json (before .gz .zst) are lines, so are stdin and pipes; .warc is records;
  // everything else is whole. .wacz, .arc and .arc.gz are refused.
  std::string layout = "auto";
  size_t batch_records = 1024;
  size_t batch_bytes = 8 << 20;       // closes a batch early; a single longer record is still taken whole
  size_t max_line_bytes = 256 << 20;  // a longer line is skipped and becomes a Problem
  size_t max_whole_bytes = 16 << 20;  // larger whole files come as pieces
  size_t buffer_bytes = 256 << 10;    // read at once; grows for a longer line
  // Asked from time to time while a pipe has nothing to say: true is taken for its end.
  std::function<bool()> stop = [] { return false; };
};

// `position` is what an earlier run committed, or empty. A file that was read to its end and has not grown is
// skipped; one that has grown continues; one whose identity (device, inode, hash of the first 4 KiB) changed
// is read from its start as a new file. Offsets in compressed files count decompressed bytes. Files are found
// again by identity, so one that was renamed is not read twice; a path given twice is read twice. Of a grown
// file whose last line had no end, the whole line comes again if it has become longer. Files read by earlier
// runs stay known when they are not among the paths. Pipes and stdin have no identity: they are read from
// where they stand. An error: a path that does not exist, nothing to read, a damaged position.
absl::StatusOr<std::unique_ptr<Source>> open_files_source(const FilesSourceOptions& options,
                                                          std::string_view position);

}  // namespace doppel

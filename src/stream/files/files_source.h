#pragma once
// Files as a stream: JSONL line by line, Parquet row by row, other files as one document each, in one fixed
// order.

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "formats/decoder.h"
#include "stream/files/places.h"
#include "stream/stream.h"

namespace doppel {

struct FilesSourceOptions {
  // Files, directories (walked recursively, entries in byte order of their path; hidden ones skipped, links
  // followed unless they lead back into themselves), pipes, or "-" for stdin.
  std::vector<std::string> paths;
  // "lines": every file is lines, one document each. "whole": every file is one document. "auto": what begins
  // as a WARC file is records; .jsonl .ndjson .json (before .gz .zst), stdin, pipes and what begins with two
  // lines of JSON are lines; everything else is whole. Of lines, JSON objects over several lines or in an
  // array are a record each. Whether it is packed is seen by its first bytes, whatever its name is. What is
  // known to be no text (content.h) is a Problem that says what to do, so are .arc, .csv and .tsv. WARC files
  // in a WACZ file (.wacz, .zip, or given by name) are read in place. What begins as a Parquet file is rows.
  // "signed": every file is signed records (engine/signed_file.h), or a Parquet file with a column of them.
  std::string layout = "auto";
  // The settings that name the columns of Parquet files; nothing: these are refused.
  std::optional<FormatOptions> columns;
  std::string signed_scheme;  // Scheme::describe() that signed files must have been made with; empty: any
  bool charsets = false;      // the reader of the records knows UTF-16, so it is not refused
  size_t batch_records = 1024;
  size_t batch_bytes = 8 << 20;       // closes a batch early; a single longer record is still taken whole
  size_t max_line_bytes = 256 << 20;  // a longer line is skipped and becomes a Problem
  size_t max_whole_bytes = 16 << 20;  // larger whole files come as pieces
  size_t buffer_bytes = 256 << 10;    // read at once; grows for a longer line
  // What is written meanwhile, and never read. A file that is found in a directory, is not empty and is one
  // of `outputs` is an error: it would be lost. Those of `own_outputs` are known to be ours, and left out.
  std::vector<NamedPath> outputs;
  std::vector<std::string> own_outputs;
  std::vector<std::string> output_directories;  // nothing below them is read
  // Asked from time to time while a pipe has nothing to say: true is taken for its end.
  std::function<bool()> stop = [] { return false; };
};

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

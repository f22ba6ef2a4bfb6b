#pragma once
// How files are read: which, as what, and within which limits. For every reader of files.

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "files/places.h"
#include "formats/decoder.h"

namespace doppel {

namespace parquet {
class KeptColumns;
}

struct FilesSourceOptions {
  // Files, directories (walked recursively, entries in byte order of their path; hidden ones skipped, links
  // followed unless they lead back into themselves), pipes, or "-" for stdin.
  std::vector<std::string> paths;
  // "lines": every file is lines, one document each. "whole": every file is one document. "auto": what begins
  // as a WARC file is records; .jsonl .ndjson .json (before .gz .zst), stdin, pipes and what begins with two
  // lines of JSON are lines; everything else is whole. Of lines, JSON objects over several lines or in an
  // array are a record each. Whether it is packed is seen by its first bytes, whatever its name is. What is
  // known to be no text (content.h) is a Problem that says what to do, so are .csv and .tsv. WARC files
  // in a WACZ file (.wacz, .zip, or given by name) are read in place. What begins as a Parquet file is rows.
  // "signed": every file is signed records (engine/signed_file.h), or a Parquet file with a column of them.
  std::string layout = "auto";
  // The settings that name the columns of Parquet files; nothing: these are refused.
  std::optional<FormatOptions> columns;
  // All columns of the rows will be copied to one Parquet file, which has these columns. Files that are no
  // Parquet, or have other columns, are an error of open_files_source(); a row is handed out only if it can
  // be copied.
  std::shared_ptr<parquet::KeptColumns> kept_columns;
  std::string signed_scheme;  // Scheme::describe() that signed files must have been made with; empty: any
  bool charsets = false;      // the reader of the records knows UTF-16, so it is not refused
  size_t batch_records = 1024;
  size_t batch_bytes = 8 << 20;       // closes a batch early; a single longer record is still taken whole
  size_t max_line_bytes = 256 << 20;  // a longer line is skipped and becomes a Problem
  size_t max_whole_bytes = 16 << 20;  // larger whole files come as pieces
  // What is too large to be held of WARC records waits here, in files without names, until the records are
  // written elsewhere; empty: nobody writes them.
  std::string rest_directory;
  bool by_date = false;             // WARC records in the order of their dates
  size_t buffer_bytes = 256 << 10;  // read at once; grows for a longer line
  // What is written meanwhile, and never read. A file that is found in a directory, is not empty and is one
  // of `outputs` is an error: it would be lost. Those of `own_outputs` are known to be ours, and left out.
  std::vector<NamedPath> outputs;
  std::vector<std::string> own_outputs;
  std::vector<std::string> output_directories;  // nothing below them is read
  // Receives what a person should know of the listing, and that is no problem.
  std::function<void(const std::string&)> say = [](const std::string&) {};
  // Asked from time to time while a pipe has nothing to say: true is taken for its end.
  std::function<bool()> stop = [] { return false; };
};

}  // namespace doppel

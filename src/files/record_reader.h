#pragma once
// Reads a file record by record. Reading can stop and resume between two records.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "files/input_file.h"
#include "files/places.h"
#include "files/position.h"
#include "formats/decoder.h"
#include "pipeline/stream.h"

namespace doppel {

class RemoteFiles;

namespace parquet {
class KeptColumns;
}

// Which files are read, how, and within which limits. All readers of files use these options.
struct FilesSourceOptions {
  // Files, URLs, pipes, "-" for stdin, and directories. Directories are walked recursively, in byte order of
  // the paths; hidden entries are skipped. Links are followed, except to a directory that contains them.
  std::vector<std::string> paths;
  std::shared_ptr<RemoteFiles> remote;  // null: URLs are refused
  // How many documents earlier runs have judged. The names of pipes end in it, so that the event_ids of their
  // documents differ from the ones of those runs.
  uint64_t judged_before = 0;
  // Whatever the layout, a file that begins as a Parquet or Arrow file is rows. Where lines are expected,
  // JSON objects over several lines or in an array are one record each. Compression is recognised by the
  // first bytes, not by the name. A file that is known to hold no text (content.h) becomes a Problem that
  // says what to do.
  Layout layout = Layout::automatic;
  // The settings that name the columns of tables; without them tables are refused.
  std::optional<FormatOptions> columns;
  // Set if all columns of the rows will be copied to one Parquet file, which has these columns. A file that
  // is not Parquet, or has other columns, is an error of open_files_source(). A row is handed out only if
  // it can be copied.
  std::shared_ptr<parquet::KeptColumns> kept_columns;
  // Set if the unique records of all files are kept in this one file, which holds lines, mail or WARC
  // records. Local files of different kinds are an error of open_files_source().
  std::string kept_in;
  std::string signed_scheme;  // Scheme::describe() with which signed files must have been made; empty: any
  size_t batch_records = 1024;
  size_t batch_bytes = 12 << 20;      // closes a batch early; a longer record makes a batch of its own
  size_t max_line_bytes = 256 << 20;  // a longer line is skipped and becomes a Problem
  size_t max_whole_bytes = 16 << 20;  // larger whole files are handed out as pieces
  // The directory for unnamed files. They hold the rest of WARC records that are too large for memory, until
  // a sink writes the record. Empty: no sink writes records.
  std::string rest_directory;
  bool by_date = false;             // orders WARC records by their dates
  size_t buffer_bytes = 256 << 10;  // bytes per read; grows for a longer line
  // Files that are written during the run, which are never read. It is an error if a directory contains a
  // file that is in `outputs` and is not empty, because it would be overwritten. Files in `own_outputs` are
  // known to be ours and are skipped silently.
  std::vector<NamedPath> outputs;
  std::vector<std::string> own_outputs;
  std::vector<std::string> output_directories;  // nothing below them is read
  // Called now and then while the paths are listed, with the number of files that were found so far.
  std::function<void(uint64_t files)> listing = [](uint64_t) {};
  // Receives remarks on the listing that are not problems.
  std::function<void(const std::string&)> say = [](const std::string&) {};
  // Polled while a pipe has no data; true counts as the end of the pipe.
  std::function<bool()> stop = [] { return false; };
};

class RecordReader {
 public:
  virtual ~RecordReader() = default;
  enum class State { full, waiting, ended };
  // Adds records until the batch is full, nothing more can be read now, or the file has ended.
  virtual State take(Batch& batch) = 0;
  // The position behind the records handed out so far.
  virtual LineMark mark() const = 0;
  // Tells the reader that a live file no longer grows: the next end is final, and also ends the last line.
  virtual void finish() {}
  // Bytes that were read behind mark(), of a line that has not ended yet.
  virtual uint64_t open_bytes() const { return 0; }
};

}  // namespace doppel

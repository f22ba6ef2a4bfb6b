#pragma once
// What FilesSink writes, and where.

#include <memory>
#include <optional>
#include <string>

#include "files/parquet/row_copy.h"
#include "formats/decoder.h"
#include "pipeline/ends.h"
#include "records/events.h"

namespace doppel {

enum class FilesOutput {
  events,      // one event per duplicate
  all_events,  // and a short one for every other document
  verdicts,    // one line per document
  clusters,    // one line per original with duplicates, at the end
};

struct FilesSinkOptions {
  FilesOutput mode = FilesOutput::events;
  std::string output = "-";  // verdicts to a name in .parquet become a table
  std::string keep;          // file for unique lines, or (.parquet) rows; empty: none
  std::shared_ptr<parquet::KeptColumns> kept_columns;  // for rows: the columns that the source has found
  std::string
      keep_directory;       // instead of `keep`: one file per input below it; works only without a position
  std::string keep_files;   // directory for unique whole files
  std::string rejects;      // file for rejected lines
  bool sync = false;        // sync the files at each commit
  bool keep_later = false;  // write() keeps nothing; the caller calls keep()
  // If set, kept records, which have this format, are written without the bytes in Outcome::cut.
  std::optional<FormatOptions> cut;
  EventContext context;
  // Needed for original-removed events; both must outlive the sink. nullptr: no such events.
  const Engine* engine = nullptr;
  StoredOriginals* originals = nullptr;
  Seq lowest_live = 0;  // lowest live number of the loaded index
};

}  // namespace doppel

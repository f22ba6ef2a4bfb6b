#pragma once
// What FilesSink writes, and where.

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "files/output_file.h"
#include "files/parquet/row_copy.h"
#include "formats/decoder.h"
#include "index/index.h"
#include "pipeline/removals.h"
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
      keep_directory;      // instead of `keep`: one file per input below it; works only without a position
  std::string keep_files;  // directory for unique whole files; empty: keep_directory
  // File for rejected lines; {"unread": NAME, "problem": WHY} stands for an input that cannot be read.
  std::string rejects;
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

// What a commit stores about the outputs: how many bytes of each are written. It is a string to everything
// else. The next start compares the outputs with it before it writes.
struct OutputLength {
  std::string path;
  uint64_t bytes = 0;
  uint64_t last_hash = 0, inode = 0;  // OutputFile's; 0: unknown
};

struct SinkPosition {
  std::vector<OutputLength> lengths;
  std::optional<Seq> announced;  // removed originals below this number were announced
};

std::string encode_sink_position(const SinkPosition& position);
SinkPosition parse_sink_position(std::string_view position);

// Whether the outputs have at least the lengths in `position`.
bool outputs_support(const FilesSinkOptions& options, std::string_view position);
// Returns InvalidArgument if `position` records bytes of an output that does not exist any more, or in whose
// place there is another file. `state` is the state directory, for the message.
absl::Status check_outputs_are_there(const FilesSinkOptions& options, std::string_view position,
                                     const std::string& state);
// Whether the run of `position` wrote to this file, by whatever path.
bool is_known_output(std::string_view position, const std::string& path);
// Returns the first output that has bytes and is unknown to `position`; otherwise an empty path.
std::string foreign_output(const FilesSinkOptions& options, std::string_view position);

// Opens an output behind the bytes that earlier commits wrote. Returns nullptr for an empty path.
absl::StatusOr<std::unique_ptr<OutputFile>> open_output(const std::string& path, bool resume,
                                                        const std::vector<OutputLength>& lengths);

}  // namespace doppel

#pragma once
// Whether the files of a run can be kept together in one file: as rows of a table, or as records of one kind.

#include "absl/status/status.h"
#include "files/read/listing.h"
#include "files/record_reader.h"

namespace doppel {

// Checks local files by their first bytes, as `kept_columns` and `kept_in` ask for; the error names the file
// that does not fit. `resumed`: an earlier run has written to the file.
absl::Status check_kept(const FilesSourceOptions& options, Listing& listing, bool resumed);

}  // namespace doppel

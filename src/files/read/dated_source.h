#pragma once
// The records of WARC files in the order of their dates. Crawlers write several files at a time, and names
// say little of what is older: only so is the first of equal records always the earliest.

#include <memory>

#include "absl/status/statusor.h"
#include "files/options.h"
#include "pipeline/stream.h"

namespace doppel {

// One pass over all heads, then each record by its place, so the files are read twice. Records without a date
// have that of the one before them in their file. It has no position. The error: one of the inputs is no WARC
// file, or holds several records in one gzip member or zstd frame, so that they cannot be read one by one.
absl::StatusOr<std::unique_ptr<Source>> open_dated_source(const FilesSourceOptions& options);

}  // namespace doppel

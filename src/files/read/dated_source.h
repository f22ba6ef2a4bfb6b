#pragma once
// Reads the records of WARC files in the order of their dates. Crawlers write several files at a time, and
// their names do not say which is older. Only this order makes the first of equal records the earliest.

#include <memory>

#include "absl/status/statusor.h"
#include "files/options.h"
#include "pipeline/stream.h"

namespace doppel {

// Reads the heads of all records first, then each record by its offset, so all files are read twice. A record
// without a date gets the date of the previous record in its file. The source has no position. It is an error
// if an input is not a WARC file, or holds several records in one gzip member or zstd frame, because these
// cannot be read one by one.
absl::StatusOr<std::unique_ptr<Source>> open_dated_source(const FilesSourceOptions& options);

}  // namespace doppel

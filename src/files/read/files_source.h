#pragma once
// Files as a Source: JSONL line by line, WARC files record by record, tables row by row, other files as one
// document each, in one fixed order.

#include <memory>
#include <string_view>

#include "absl/status/statusor.h"
#include "files/byte_stream.h"
#include "files/input_file.h"
#include "files/record_reader.h"
#include "pipeline/buffers.h"
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

// Reads one file as one record: small files go side by side into the batch's buffers, large ones are handed
// out as pieces. Adds the record of `file`, or a problem. Sets `mark` to the file's whole_mark(), or to 0 if
// it was not delivered or has no identity.
void read_whole_file(const FilesSourceOptions& options, Filling& filling, const InputFile& file, Fd fd,
                     const ByteCounter& counter, Batch& batch, uint64_t& mark);

// Reads the records of WARC files in the order of their dates. Crawlers write several files at a time, and
// their names do not say which is older. Only this order makes the first of equal records the earliest.
//
// Reads the heads of all records first, then each record by its offset, so all files are read twice. A record
// without a date gets the date of the previous record in its file. The source has no position. It is an error
// if an input is not a WARC file. A file that holds several records in one gzip member or zstd frame is left
// out and named as a problem, because such records cannot be read one by one.
absl::StatusOr<std::unique_ptr<Source>> open_dated_source(const FilesSourceOptions& options);

}  // namespace doppel

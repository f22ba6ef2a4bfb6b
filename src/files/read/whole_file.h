#pragma once
// Reads one file as one record: small files go side by side into the batch's buffers, large ones are handed
// out as pieces.

#include "files/byte_stream.h"
#include "files/input_file.h"
#include "files/options.h"
#include "pipeline/buffers.h"

namespace doppel {

// Adds the record of `file`, or a problem. Sets `mark` to the file's whole_mark(), or to 0 if it was not
// delivered or has no identity.
void read_whole_file(const FilesSourceOptions& options, Filling& filling, const InputFile& file, Fd fd,
                     const ByteCounter& counter, Batch& batch, uint64_t& mark);

}  // namespace doppel

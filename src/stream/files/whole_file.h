#pragma once
// One file as one record: small ones packed side by side into the batch's buffers, large ones as pieces.

#include "stream/buffers.h"
#include "stream/files/byte_stream.h"
#include "stream/files/files_source.h"
#include "stream/files/listing.h"

namespace doppel {

// Adds the record of `file`, or a problem. What the file is known by afterwards is stored in `mark`, or 0
// where it was not delivered or has no identity.
void read_whole_file(const FilesSourceOptions& options, Filling& filling, const InputFile& file, Fd fd,
                     const ByteCounter& counter, Batch& batch, uint64_t& mark);

}  // namespace doppel

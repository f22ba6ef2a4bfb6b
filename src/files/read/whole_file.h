#pragma once
// One file as one record: small ones packed side by side into the batch's buffers, large ones as pieces.

#include "files/byte_stream.h"
#include "files/input_file.h"
#include "files/options.h"
#include "pipeline/buffers.h"

namespace doppel {

// Adds the record of `file`, or a problem. What the file is known by afterwards is stored in `mark`, or 0
// where it was not delivered or has no identity.
void read_whole_file(const FilesSourceOptions& options, Filling& filling, const InputFile& file, Fd fd,
                     const ByteCounter& counter, Batch& batch, uint64_t& mark);

}  // namespace doppel

#pragma once
// Converts an ARC file (versions 1.0 and 1.1), the format before WARC, to WARC as it is read: records get
// WARC heads, and their blocks stay.

#include <memory>

#include "files/byte_stream.h"

namespace doppel {

// stored_at() is the offset of the ARC record whose WARC head the last read() began. resume() continues at
// the next line that is the head of a record, in this member or another. size: of the file; 0: unknown.
std::unique_ptr<ByteStream> arc_as_warc(std::unique_ptr<ByteStream> arc, Packing packing, uint64_t size);

}  // namespace doppel

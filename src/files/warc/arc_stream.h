#pragma once
// An ARC file (versions 1.0 and 1.1), the format before WARC, as the WARC file that it would be: its records
// get WARC heads, and their blocks stay.

#include <memory>

#include "files/byte_stream.h"

namespace doppel {

// stored_at(): where the ARC record is stored whose WARC head the last read() began. resume() goes on at the
// next line that is the head of a record, in this member or another. size: of the file; 0: not known.
std::unique_ptr<ByteStream> arc_as_warc(std::unique_ptr<ByteStream> arc, Packing packing, uint64_t size);

}  // namespace doppel

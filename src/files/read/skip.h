#pragma once
// How readers move to the place that an earlier run reached.

#include "files/byte_stream.h"
#include "files/input_file.h"
#include "pipeline/buffers.h"
#include "pipeline/stream.h"

namespace doppel {

inline constexpr size_t kSmallRead = 64 << 10;  // less room is not worth a system call

// Puts one byte of our own between the bytes of other files in the buffer and this file's first record. So
// records of different files never touch, and the bytes behind a record are never taken for its end.
// Returns where the first record begins.
size_t begin_file(Filling& filling);

// Moves `stream`, which reads `fd`, so that its next read() returns the byte at `offset` (in uncompressed
// bytes). Returns false, and adds a Problem, if that place does not exist any more.
bool skip_to(uint64_t offset, int fd, const InputFile& file, ByteStream& stream, Batch& batch);

}  // namespace doppel

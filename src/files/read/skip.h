#pragma once
// How readers of lines and of values go to the place that an earlier run has reached.

#include "files/byte_stream.h"
#include "files/input_file.h"
#include "pipeline/buffers.h"
#include "pipeline/stream.h"

namespace doppel {

inline constexpr size_t kSmallRead = 64 << 10;  // less room than this is not worth a system call

// A byte of our own between what other files left in the buffer and the first record of this one: records of
// different files never touch, so what follows a record is never taken for its end. Where that begins.
size_t begin_file(Filling& filling);

// The next read() of `stream`, which reads `fd`, gives the byte at `offset`, in unpacked bytes. False: that
// place is not there any more, and a Problem says so.
bool skip_to(uint64_t offset, int fd, const InputFile& file, ByteStream& stream, Batch& batch);

}  // namespace doppel

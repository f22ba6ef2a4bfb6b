#pragma once
// Reads a file record by record. Reading can stop and resume between two records.

#include "files/position.h"
#include "pipeline/stream.h"

namespace doppel {

class RecordReader {
 public:
  virtual ~RecordReader() = default;
  enum class State { full, waiting, ended };
  // Adds records until the batch is full, nothing more can be read now, or the file has ended.
  virtual State take(Batch& batch) = 0;
  // The position behind the records handed out so far.
  virtual LineMark mark() const = 0;
  // Tells the reader that a live file no longer grows: the next end is final, and also ends the last line.
  virtual void finish() {}
  // Bytes that were read behind mark(), of a line that has not ended yet.
  virtual uint64_t open_bytes() const { return 0; }
};

}  // namespace doppel

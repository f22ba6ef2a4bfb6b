#pragma once
// A file that is read record by record, and can be left and taken up again between two of them.

#include "files/position.h"
#include "pipeline/stream.h"

namespace doppel {

class RecordReader {
 public:
  virtual ~RecordReader() = default;
  enum class State { full, waiting, ended };
  // Adds records until the batch is full, there is nothing more at the moment, or the file has ended.
  virtual State take(Batch& batch) = 0;
  // How far the records handed out so far reach.
  virtual LineMark mark() const = 0;
  // A live file does not grow any more: what comes now is its end, also that of its last line.
  virtual void finish() {}
  // Bytes that were read behind mark(): of a line that has not ended yet.
  virtual uint64_t open_bytes() const { return 0; }
};

}  // namespace doppel

#pragma once
// The seam between the engine and the world: a Source hands over records in batches, in order; a Sink
// takes what was decided. Both describe how far they are by a position, an opaque string that is
// committed together with the index, so that after a crash input, index and output agree again.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace doppel {

// A document too large to be held: read piece by piece, by one thread, once.
class PieceReader {
 public:
  virtual ~PieceReader() = default;
  // The next piece, valid until the next call; empty at the end.
  virtual absl::StatusOr<std::string_view> next() = 0;
};

// Parsers read in blocks: every Record's value is followed by this many readable bytes of the same
// allocation. What they hold is unspecified.
inline constexpr size_t kRecordPadding = 64;

// One record as it arrived. Views are valid as long as the batch is.
struct Record {
  // The bytes of the document's record without the line feed that ended it. A carriage return before it is
  // left in: bytes are handed on unchanged, JSON takes it for white space and the text decoder drops it.
  // Followed by kRecordPadding bytes.
  std::string_view value;
  std::string_view key;                 // Kafka's key; empty without one
  std::string_view source;              // the file's path as given (or found), or the topic
  int32_t partition = -1;               // -1: a file
  uint64_t offset = 0;                  // Kafka's offset, or the byte offset in the (decompressed) file
  uint64_t line = 0;                    // 1-based line in the file; 0 where there are no lines
  int64_t timestamp_ms = -1;            // Kafka's; -1: none
  bool whole_file = false;              // the record is a file, not a line of one
  std::shared_ptr<PieceReader> pieces;  // set instead of `value` for a whole file above the source's limit
};

// Something wrong with an input that is not a record (a file without permission, a truncated gz).
struct Problem {
  std::string source;
  uint64_t line = 0;
  uint64_t offset = 0;
  std::string message;  // complete, for a person: names file, line, offset as far as they apply
};

struct Batch {
  std::vector<Record> records;
  std::vector<Problem> problems;
  std::string
      position;  // where the source stands after this batch (of files: successive ones share a long prefix)
  uint64_t bytes = 0;                               // of the records
  std::vector<std::shared_ptr<const void>> memory;  // keeps what the views point into
};

class Source {
 public:
  virtual ~Source() = default;
  // Fills `batch` (which it clears first). False: the input has ended and the batch is empty. An error is
  // one that must stop the run; what is wrong with a single input goes into batch.problems.
  virtual absl::StatusOr<bool> next(Batch& batch) = 0;
  // How many bytes there are in all, for progress; 0 if unknown (stdin). In the unit of bytes_read().
  virtual uint64_t bytes_total() const = 0;
  virtual uint64_t bytes_read() const = 0;
};

}  // namespace doppel

#pragma once
// The seam between the engine and the world: a Source hands over records in batches, in order; a Sink
// takes what was decided. Both describe how far they are by a position, an opaque string that is
// committed together with the index, so that after a crash input, index and output agree again.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "formats/record.h"

namespace doppel {

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
      position;  // the source's position after this batch (of files: successive ones share a long prefix)
  uint64_t bytes = 0;                               // of the records
  std::vector<std::shared_ptr<const void>> memory;  // keeps what the views point into
};

class Source {
 public:
  virtual ~Source() = default;
  // Fills `batch` (which it clears first). False: the input has ended and the batch is empty. An error is
  // one that must stop the run; what is wrong with a single input goes into batch.problems.
  virtual absl::StatusOr<bool> next(Batch& batch) = 0;
  // A live source waits for what others write: its next() returns after a tenth of a second at most, with an
  // empty batch if nothing came.
  virtual bool live() const { return false; }
  // Whether the next batch is read on a thread of its own while the last one is worked on.
  virtual bool in_background() const { return live(); }
  // How a live source asks whether its batch is waited for: until it is, a batch that is not full may grow.
  // Called once, before the first next(); `wanted` may be asked on the thread of next(), as long as that
  // runs.
  virtual void ask_before_closing(const std::function<bool()>& /*wanted*/) {}
  // How many bytes there are in all, for progress; 0 if unknown (stdin). In the unit of bytes_read().
  virtual uint64_t bytes_total() const = 0;
  virtual uint64_t bytes_read() const = 0;
};

}  // namespace doppel

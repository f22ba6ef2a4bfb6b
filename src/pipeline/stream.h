#pragma once
// The interface between the engine and the outside world: a Source returns records in batches, in order; a
// Sink takes the decisions. The position of each is an opaque string, which is committed together with the
// index. So after a crash input, index and output match.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "formats/record.h"

namespace doppel {

// A problem of an input that is not a record, such as missing permission or a truncated gz file.
struct Problem {
  std::string source;
  uint64_t line = 0;
  uint64_t offset = 0;
  std::string message;  // complete, for a person: names file, line and offset if they apply
};

struct Batch {
  std::vector<Record> records;
  std::vector<Problem> problems;
  std::string
      position;  // the source's position after this batch (of files: successive ones share a long prefix)
  uint64_t bytes = 0;                               // of the records
  std::vector<std::shared_ptr<const void>> memory;  // keeps the bytes that the views point into

  // Keeps the capacity for the next batch.
  void clear() {
    records.clear();
    problems.clear();
    memory.clear();
    position.clear();
    bytes = 0;
  }
};

class Source {
 public:
  virtual ~Source() = default;
  // Clears and fills `batch`. Returns false at the end of the input, with an empty batch. An error stops
  // the run; problems of a single input go into batch.problems.
  virtual absl::StatusOr<bool> next(Batch& batch) = 0;
  // A live source waits for new input. Its next() returns after at most 0.1 s, with an empty batch if
  // nothing came.
  virtual bool live() const { return false; }
  // Whether to read the next batch on a background thread while the last one is processed.
  virtual bool in_background() const { return live(); }
  // Tells a live source how to ask whether its batch is wanted. Until then, a batch that is not full may
  // grow. Called once, before the first next(); the source may call `wanted` on next()'s thread.
  virtual void ask_before_closing(const std::function<bool()>& /*wanted*/) {}
  // The total number of bytes, for progress, in the unit of bytes_read(); 0 if unknown (stdin).
  virtual uint64_t bytes_total() const = 0;
  virtual uint64_t bytes_read() const = 0;
};

// Base of a stage that adds something to records before they are signed. The source below it does the rest.

// `Kind`: Source, or a class derived from it. `inner` must outlive this.
template <typename Kind>
class SourceOver : public Kind {
 public:
  bool live() const override { return inner_.live(); }
  bool in_background() const override { return inner_.in_background(); }
  void ask_before_closing(const std::function<bool()>& wanted) override { inner_.ask_before_closing(wanted); }
  uint64_t bytes_total() const override { return inner_.bytes_total(); }
  uint64_t bytes_read() const override { return inner_.bytes_read(); }

 protected:
  explicit SourceOver(Source& inner) : inner_(inner) {}
  Source& inner_;
};

}  // namespace doppel

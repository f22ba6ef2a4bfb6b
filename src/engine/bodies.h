#pragma once
// Where the bodies of originals are kept: metadata (opaque to the engine) and the coded set, in one
// piece, so that a duplicate costs one read.

#include <memory>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "index/index.h"

namespace doppel {

struct Body {
  std::string_view metadata;
  std::string_view coded_set;  // stored_set.h; empty: there is none, verify by signature
};

// append() and flush() from one thread; read() from any number at once, also beside them.
class Bodies {
 public:
  virtual ~Bodies() = default;
  // Readable at once. The error names the file.
  virtual absl::StatusOr<BodyRef> append(const Body& body) = 0;
  // Reads into `buffer`; the views of the result point into it. A checksum that does not fit is an error
  // (DataLoss).
  virtual absl::StatusOr<Body> read(BodyRef ref, std::string& buffer) const = 0;
  // What was appended reaches the file (no sync).
  virtual absl::Status flush() = 0;
  virtual uint64_t bytes() const = 0;
  virtual uint64_t reads() const = 0;  // how many read() went to the disk or page cache
};

// Bodies in memory: for the embedded detector and tests.
std::unique_ptr<Bodies> memory_bodies();

}  // namespace doppel

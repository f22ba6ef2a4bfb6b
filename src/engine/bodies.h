#pragma once
// Stores the bodies of originals: metadata (opaque to the engine) and the coded set together, so that a
// duplicate costs one read.

#include <memory>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "index/index.h"

namespace doppel {

struct Body {
  std::string_view metadata;
  std::string_view coded_set;  // see stored_set.h; empty if there is none: verify by signature
};

// Call append() and flush() from one thread. Any number of threads may call read(), also concurrently with
// these.
class Bodies {
 public:
  virtual ~Bodies() = default;
  // The body is readable immediately. An error names the file.
  virtual absl::StatusOr<BodyRef> append(const Body& body) = 0;
  // Reads into `buffer`; the returned views point into it. DataLoss means a wrong checksum.
  virtual absl::StatusOr<Body> read(BodyRef ref, std::string& buffer) const = 0;
  // Writes what was appended to the file, without a sync.
  virtual absl::Status flush() = 0;
  virtual uint64_t bytes() const = 0;
  virtual uint64_t reads() const = 0;  // number of read() calls that used the disk or page cache
};

// Stores bodies in memory, for the embedded detector and tests.
std::unique_ptr<Bodies> memory_bodies();

}  // namespace doppel

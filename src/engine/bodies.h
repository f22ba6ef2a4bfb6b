#pragma once
// Stores the bodies of originals: metadata (opaque to the engine) and the coded set together, so that a
// duplicate costs one read.

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "base/bytes.h"
#include "index/index.h"

namespace doppel {

struct Body {
  std::string_view metadata;
  std::string_view coded_set;  // see below; empty if there is none: verify by signature
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

// The part of an original's body that comes from its text: the coded set and, if the index knows relations,
// the prints that the original lists. A copy of a body has both.
//
//    .  coded set (compact_set.h)
//    .  prints, 6 bytes each, ascending
//    -4 u32 number of prints
//
// Empty for an original without a set.
inline constexpr size_t kStoredPrintBytes = 6;

// Sorts the prints and appends them to a coded set, unless the set is empty.
void append_prints(std::span<uint64_t> prints, std::string& coded_set);

// Splits what a body stores into the coded set, which it returns, and the prints. If `with_prints` is false,
// all of it is the coded set. DataLoss: the prints are missing or damaged.
absl::StatusOr<std::string_view> split_stored_set(std::string_view stored, bool with_prints,
                                                  PodVector<uint64_t>* prints = nullptr);
// Reads a body and returns the prints that its original lists.
absl::Status read_prints(const Bodies& bodies, BodyRef ref, std::string& buffer, PodVector<uint64_t>& prints);

}  // namespace doppel

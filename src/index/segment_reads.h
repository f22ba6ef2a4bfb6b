#pragma once
// Reads the pages of segments that a lookup wants.

#include <vector>

#include "absl/functional/function_ref.h"
#include "index/segment.h"

namespace doppel {

// A page, and what wants it.
struct PageWant {
  const Segment* segment;
  uint64_t offset;
  uint32_t who;  // these mean what the caller likes
  uint32_t part;
  uint64_t page;
};

// Reads each wanted page once, in the order of the files, and passes it to all that want it. Adds the number
// of pages to `count`, and empties `wants`.
absl::Status read_wanted(const PageReader& reader, std::vector<PageWant>& wants, uint64_t& count,
                         absl::FunctionRef<void(const PageWant& want, const uint8_t* bytes)> use);

}  // namespace doppel

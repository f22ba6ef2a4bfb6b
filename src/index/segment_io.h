#pragma once
// What segments need of files. Files themselves are in state/segment_file.h.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace doppel {

class SegmentSink {
 public:
  virtual ~SegmentSink() = default;
  virtual absl::Status write_at(uint64_t offset, std::string_view bytes) = 0;
};

// Any number of threads may read at once.
class SegmentSource {
 public:
  virtual ~SegmentSource() = default;
  virtual const std::string& name() const = 0;  // for errors
  // DataLoss: the file ends before.
  virtual absl::Status read_at(uint64_t offset, void* out, size_t bytes) const = 0;
  // A page is damaged: the segment must not be opened again. It stays readable.
  virtual void discard() const {}
};

// Reads bytes that are not in pages. DataLoss: they have another CRC32C; the message says what they are.
absl::Status read_checked(const SegmentSource& source, uint64_t offset, uint8_t* out, uint64_t bytes,
                          uint32_t crc, std::string_view what);

// A page that is wanted. `out` has kSegmentPage bytes and is aligned to as many.
struct PageRead {
  const SegmentSource* source = nullptr;
  uint64_t offset = 0;
  uint8_t* out = nullptr;
};

// Reads many pages at once. Any number of threads may call it. This one reads them one after the other.
class PageReader {
 public:
  virtual ~PageReader() = default;
  virtual absl::Status read(std::span<const PageRead> reads) const;
};

}  // namespace doppel

#pragma once
// Where the segments of old originals are kept. state/segment_directory.h keeps them as files.

#include <memory>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "index/index.h"
#include "index/segment_format.h"

namespace doppel {

// The originals [first, end) of a segment.
struct SegmentName {
  Seq first = 0, end = 0;
  bool operator==(const SegmentName&) const = default;
};

// A segment that is being written. If it is destroyed before finish(), nothing remains.
class SegmentBeingWritten : public SegmentSink {
 public:
  // Afterwards the segment is stored, also after a power loss.
  virtual absl::Status finish() = 0;
};

// Different threads may create different segments.
class SegmentStore {
 public:
  virtual ~SegmentStore() = default;
  virtual std::vector<SegmentName> list() const = 0;  // in any order
  virtual absl::StatusOr<std::unique_ptr<SegmentBeingWritten>> create(const SegmentName& name) = 0;
  virtual absl::StatusOr<std::unique_ptr<SegmentSource>> open(const SegmentName& name) = 0;
  // An open source stays readable.
  virtual void remove(const SegmentName& name) = 0;
  virtual const PageReader& reader() const = 0;
};

}  // namespace doppel

#pragma once
// Finds the dead originals that a Sink announces: all that a batch removed and, some at a time, the expired
// and evicted ones.

#include <functional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "engine/engine.h"
#include "pipeline/pipeline.h"

namespace doppel {

// Reads removed originals, so that they can be announced.
class StoredOriginals {
 public:
  virtual ~StoredOriginals() = default;
  struct Original {
    std::string metadata;
    int64_t trusted_ms = kNoTime;
    bool removed = false;  // it was removed, and announced, before
  };
  virtual absl::StatusOr<Original> original(Seq seq) = 0;
};

struct RemovedOriginal {
  Seq seq = 0;
  RemovalReason reason{};
  int64_t trusted_ms = kNoTime;
  std::string_view metadata;
};
using WriteRemoved = std::function<absl::Status(const RemovedOriginal&)>;

// Writes the originals that the batch removed, in the order of removal.
absl::Status write_removed(const Decided& decided, StoredOriginals& originals, const WriteRemoved& write);

// Writes the dead originals below resolved.lowest_live, starting at `announced`. All are dead at once, but
// they are announced in steps, so that batches stay bounded. Returns the number up to which all are
// announced; if that is less than lowest_live, there are more.
absl::StatusOr<Seq> write_expired(const Resolved& resolved, Seq announced, const Engine& engine,
                                  StoredOriginals& originals, const WriteRemoved& write);

}  // namespace doppel

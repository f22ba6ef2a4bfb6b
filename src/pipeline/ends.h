#pragma once
// Removed originals, for a Sink that announces them: which ones a batch removed, and, some at a time,
// which ones have expired or were evicted.

#include <functional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "engine/engine.h"
#include "pipeline/pipeline.h"

namespace doppel {

// What is read again of a removed original, to announce it.
class StoredOriginals {
 public:
  virtual ~StoredOriginals() = default;
  struct Original {
    std::string metadata;
    int64_t trusted_ms = kNoTime;
    bool removed = false;  // before: it was announced then
  };
  virtual absl::StatusOr<Original> original(Seq seq) = 0;
};

struct End {
  Seq seq = 0;
  RemovalReason reason{};
  int64_t trusted_ms = kNoTime;
  std::string_view metadata;
};
using WriteEnd = std::function<absl::Status(const End&)>;

// The originals that the batch removed, in the order in which it did.
absl::Status write_removed(const Decided& decided, StoredOriginals& originals, const WriteEnd& write);

// What is dead below resolved.lowest_live, from `announced` on: dead at once, but announced in steps, so that
// no batch grows without bound. Returns what is announced then; less than lowest_live: more must be
// announced.
absl::StatusOr<Seq> write_expired(const Resolved& resolved, Seq announced, const Engine& engine,
                                  StoredOriginals& originals, const WriteEnd& write);

}  // namespace doppel

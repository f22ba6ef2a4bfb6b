#pragma once
// The end of representatives, for a Sink that tells it: which ones a batch removed, and, some at a time,
// which ones have expired or were evicted.

#include <functional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "engine/engine.h"
#include "stream/pipeline.h"

namespace doppel {

// What is read again of a representative whose end is to be told.
class StoredOriginals {
 public:
  virtual ~StoredOriginals() = default;
  struct Original {
    std::string metadata;
    int64_t trusted_ms = kNoTime;
    bool removed = false;  // before: its end was told then
  };
  virtual absl::StatusOr<Original> original(Seq seq) = 0;
};

struct End {
  Seq seq = 0;
  RemovalReason reason{};
  int64_t trusted_ms = kNoTime;
  std::string_view metadata;
};
using TellEnd = std::function<absl::Status(const End&)>;

// The representatives that the batch removed, in the order in which it did.
absl::Status tell_removed(const Decided& decided, StoredOriginals& originals, const TellEnd& tell);

// What is dead below resolved.lowest_live, from `announced` on: dead at once, but told in steps, so that no
// batch grows without bound. Returns what is announced then; less than lowest_live: there is more to tell.
absl::StatusOr<Seq> tell_expired(const Resolved& resolved, Seq announced, const Engine& engine,
                                 StoredOriginals& originals, const TellEnd& tell);

}  // namespace doppel

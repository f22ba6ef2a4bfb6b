#pragma once
// Finds copies that are better than the one that their cluster shows (output.best): first the original, then
// the best copy so far. A cluster that began under another setting, or under none, always shows its original.

#include <functional>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "engine/engine.h"
#include "formats/best.h"

namespace doppel {

class BetterCopies {
 public:
  // The copy that the cluster of this original shows (encode_shown()), as of the last commit; nullptr: it
  // shows its original.
  using Shown = std::function<const std::string*(Seq)>;

  // Originals below `first_own` belong to indexes that are only read, and their clusters never change.
  BetterCopies(Best best, Seq first_own, Shown shown)
      : best_(std::move(best)), first_own_(first_own), shown_(std::move(shown)) {}

  // Sets work.resolved.better. Call it when the batch is decided and the previous one is committed.
  absl::Status find(Work& work);

 private:
  const Best best_;
  const Seq first_own_;
  const Shown shown_;
  absl::flat_hash_map<Seq, size_t> now_;  // of this batch: the last better copy of each cluster
};

}  // namespace doppel

#pragma once
// Expiry in record time. The watermark is the n-th largest record time taken so far, so that one wrong
// clock cannot empty the index. Originals expire by generations of consecutive numbers: one
// expires when its youngest member is older than the watermark by more than expire_after. A member counts
// as no younger than the watermark was when it came, so that one wrong clock cannot keep a generation
// alive either; before there is a watermark no time counts. A generation without any time goes together
// with the next one that has one.
//
// Members that were removed or evicted count like all others: when a generation expires must not depend on
// what a restart still finds of it.

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "engine/rule.h"
#include "index/index.h"

namespace doppel {

class Expiry {
 public:
  explicit Expiry(const Rule& rule);

  // A document of this record time (or without one) is about to be judged. Returns the lowest live number
  // from now on.
  Seq observe(int64_t timestamp_ms);

  // The time that counts for an original made now.
  int64_t trusted(int64_t timestamp_ms) const;

  // An original was made (or restored), in ascending order, and this is the time that counts.
  void added(Seq seq, int64_t trusted_ms);

  // Everything below is dead from now on, whatever its age.
  void evict_below(Seq seq);

  Seq lowest_live() const { return lowest_live_; }
  // Whether something of this time would have expired by itself.
  bool too_old(int64_t trusted_ms) const;

  // The largest record times, for the commit record; empty while nothing expires.
  std::string state() const;

  // Restoring: start(), added() for what is left; start() again if something else turns out to be true,
  // finish(). What belongs together is joined only at the end, when all is known.
  absl::Status start_restore(Seq lowest_live, std::string_view state);
  // The time that counts for one that was added without it: its generation may be younger than it seemed.
  void known_late(Seq seq, int64_t trusted_ms);
  void finish_restore();

 private:
  struct Generation {
    uint64_t number = 0;  // of the sequence number divided by the size of a generation
    int64_t youngest_ms = kNoTime;
  };
  uint64_t generation_of(Seq seq) const { return seq / generation_size_; }
  Seq first_of(uint64_t generation) const { return generation * generation_size_; }
  void drop_dead();

  int64_t expire_after_ms_;
  uint32_t generation_size_;
  size_t rank_;
  std::vector<int64_t> largest_;  // min-heap of the `rank_` largest times
  // Ascending; the last one may still grow. What is missing in between goes with the next one.
  std::deque<Generation> generations_;
  Seq lowest_live_ = 0;
  bool restoring_ = false;
  std::optional<Generation> restored_first_;  // of which a part was evicted
};

}  // namespace doppel

#pragma once
// Expiry in record time. The watermark is the n-th largest record time so far, so that one wrong clock cannot
// empty the index. Originals expire by generations of consecutive numbers: a generation expires when its
// youngest member is older than the watermark by more than expire_after. A member's time is limited to the
// watermark at its arrival, so that one wrong clock cannot keep a generation alive; before there is a
// watermark, times do not count. A generation without any time expires with the next one that has one.
//
// Removed and evicted members count like all others, because the time of expiry must not depend on what a
// restart finds.

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

  // A document with this record time (or none) is about to be judged. Returns the new lowest live number.
  Seq observe(int64_t timestamp_ms);

  // The time that counts for an original created now.
  int64_t trusted(int64_t timestamp_ms) const;

  // An original was created (or restored); call in ascending order. `trusted_ms` is the time that counts.
  void added(Seq seq, int64_t trusted_ms);

  // Everything below `seq` is dead from now on, whatever its age.
  void evict_below(Seq seq);

  Seq lowest_live() const { return lowest_live_; }
  // Whether an original of this time would have expired by itself.
  bool too_old(int64_t trusted_ms) const;

  // The largest record times, for the commit record; "" if nothing expires.
  std::string state() const;

  // To restore, call start_restore(), added() for each remaining original, and finish_restore().
  // start_restore() may be called a second time with corrected values. Generations are merged only at the
  // end, when everything is known.
  absl::Status start_restore(Seq lowest_live, std::string_view state);
  // The time of an original that was added without it. Its generation may be younger than it seemed.
  void known_late(Seq seq, int64_t trusted_ms);
  void finish_restore();

 private:
  struct Generation {
    uint64_t number = 0;  // the sequence number divided by the size of a generation
    int64_t youngest_ms = kNoTime;
  };
  uint64_t generation_of(Seq seq) const { return seq / generation_size_; }
  Seq first_of(uint64_t generation) const { return generation * generation_size_; }
  void drop_dead();

  int64_t expire_after_ms_;
  uint32_t generation_size_;
  size_t rank_;
  std::vector<int64_t> largest_;  // min-heap of the `rank_` largest times
  // Ascending; the last one may still grow. A missing generation expires with the next one.
  std::deque<Generation> generations_;
  Seq lowest_live_ = 0;
  bool restoring_ = false;
  std::optional<Generation> restored_first_;  // a part of it was evicted
};

}  // namespace doppel

#pragma once
// Expiry in record time. The watermark is the n-th largest record time taken so far, so that one wrong
// clock cannot empty the index. Representatives expire by generations of consecutive numbers: one
// expires when its youngest member is older than the watermark by more than expire_after. A member counts
// as no younger than the watermark was when it came, so that one wrong clock cannot keep a generation
// alive either; before there is a watermark no time counts.

#include <cstdint>
#include <deque>
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

  // The time that counts for a representative made now.
  int64_t trusted(int64_t timestamp_ms) const;

  // A representative was made (or restored), in ascending order, and this is the time that counts.
  void added(Seq seq, int64_t trusted_ms);

  // The time that counts for one that was added without it: its generation may be younger than it seemed.
  void known_late(Seq seq, int64_t trusted_ms);

  Seq lowest_live() const { return lowest_live_; }
  void restore_lowest_live(Seq seq);

  // The largest record times, for the commit record; empty while nothing expires.
  std::string state() const;
  absl::Status restore(std::string_view state);

 private:
  struct Generation {
    Seq end = 0;  // first number that is not in it
    int64_t youngest_ms = kNoTime;
  };
  int64_t expire_after_ms_;
  uint32_t generation_size_;
  size_t rank_;
  std::vector<int64_t> largest_;  // min-heap of the `rank_` largest times
  std::deque<Generation> generations_;
  Seq lowest_live_ = 0;
};

}  // namespace doppel

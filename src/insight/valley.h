#pragma once
// The threshold that fits a sample: where pairs are rarest, few verdicts hang on its exact value.

#include <cstdint>
#include <span>

namespace doppel {

struct Valley {
  bool clear = false;        // false: similarities are spread too evenly for one place to be better
  double from = 0, to = 0;   // the widest stretch between .50 and .95 where pairs are rare
  double threshold = 0;      // its middle
  uint64_t pairs_in_it = 0;  // from <= similarity < to
};

// `pairs` counts pairs by similarity in 100 steps of .01.
//
// Counts are smoothed over three steps. A step is rare if it holds at most a fifth of the mean between
// .50 and .95, or, where that is nowhere so, no more than the rarest one does. A stretch of fewer than three
// steps, or one that holds more than a third of the mean in a step, is no valley.
Valley find_valley(std::span<const uint64_t> pairs);

}  // namespace doppel

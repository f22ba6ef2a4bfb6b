#pragma once
// Finds the threshold that fits a sample: where pairs are rarest, few verdicts depend on its exact value.

#include <cstdint>
#include <span>

namespace doppel {

struct Valley {
  bool clear = false;        // false: similarities are spread too evenly for a clear choice
  double from = 0, to = 0;   // the widest range between .50 and .95 where pairs are rare
  double threshold = 0;      // middle of the range
  uint64_t pairs_in_it = 0;  // from <= similarity < to
};

// `pairs` counts pairs by similarity in 100 steps of .01.
//
// Counts are averaged over three steps. A step is rare if it holds at most a fifth of the mean between .50
// and .95; if no step does, only the rarest is. A range is not a valley if it has fewer than three steps, or
// if its steps may hold more than a third of the mean.
Valley find_valley(std::span<const uint64_t> pairs);

}  // namespace doppel

#include "sketch/classic.h"

namespace doppel {

void classic_update_avx2(uint64_t* slots, int k, const uint64_t* x, size_t n, const uint64_t* salts) {
  classic_loop(slots, k, x, n, salts);
}

}  // namespace doppel

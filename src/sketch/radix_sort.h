#pragma once
// Sorting 32-bit hash tops in linear time, whatever they are.

#include <cstdint>

#include "base/pod_vector.h"

namespace doppel {

void sort_tops(PodVector<uint32_t>& tops);

}  // namespace doppel

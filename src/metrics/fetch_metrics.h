#pragma once
// How reading in WARC files goes.

#include "fetch/fetch_pool.h"
#include "metrics/families.h"

namespace doppel {

void collect_fetches(Families& out, const FetchCounts& counts);

}  // namespace doppel

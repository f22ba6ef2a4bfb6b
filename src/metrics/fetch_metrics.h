#pragma once
// How reading in WARC files goes.

#include "metrics/families.h"
#include "stream/warc/fetch_pool.h"

namespace doppel {

void collect_fetches(Families& out, const FetchCounts& counts);

}  // namespace doppel

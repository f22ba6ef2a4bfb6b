#pragma once
// Metrics of records that are fetched from WARC files.

#include "fetch/fetch_pool.h"
#include "metrics/families.h"

namespace doppel {

void collect_fetches(Families& out, const FetchCounts& counts);

}  // namespace doppel

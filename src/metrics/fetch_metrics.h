#pragma once
// Metrics of records that are fetched from WARC files, and of schemas from a registry.

#include "fetch/fetch_pool.h"
#include "fetch/schema_source.h"
#include "metrics/families.h"

namespace doppel {

void collect_fetches(Families& out, const FetchCounts& counts);
void collect_schemas(Families& out, const SchemaStats& stats);

}  // namespace doppel

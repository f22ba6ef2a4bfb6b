#pragma once
// An index on many machines, as its resolver and each of its matchers see it.

#include "metrics/families.h"
#include "stream/cluster_status.h"

namespace doppel {

void collect_resolver(Families& out, const ResolverStatus& status, int64_t now_ms);
void collect_matcher(Families& out, const MatcherStatus& status);

}  // namespace doppel

#pragma once
// An index on many machines, as the status pages of its resolver and its matchers show it.

#include "status/cluster_status.h"
#include "status/page.h"

namespace doppel {

ClusterPart cluster_part(const ResolverStatus& status, int64_t now_ms);
ClusterPart cluster_part(const MatcherStatus& status);

}  // namespace doppel

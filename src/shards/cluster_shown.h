#pragma once
// What the status pages of resolver and matchers show of an index on many machines.

#include "status/cluster_status.h"
#include "status/page.h"

namespace doppel {

ClusterPart cluster_part(const ResolverStatus& status, int64_t now_ms);
ClusterPart cluster_part(const MatcherStatus& status);

}  // namespace doppel

#pragma once
// Metrics of an index on many machines, one function for each role.

#include "metrics/families.h"
#include "status/cluster_status.h"

namespace doppel {

void collect_resolver(Families& out, const ResolverStatus& status, int64_t now_ms);
void collect_signer(Families& out, const SignerStatus& status);
void collect_matcher(Families& out, const MatcherStatus& status);

}  // namespace doppel

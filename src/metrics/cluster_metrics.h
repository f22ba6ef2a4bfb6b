#pragma once
// An index on many machines, as each of its processes sees it.

#include "metrics/families.h"
#include "status/cluster_status.h"

namespace doppel {

void collect_resolver(Families& out, const ResolverStatus& status, int64_t now_ms);
void collect_signer(Families& out, const SignerStatus& status);
void collect_matcher(Families& out, const MatcherStatus& status);

}  // namespace doppel

#include "shards/cluster_shown.h"

#include <fmt/format.h>

#include <algorithm>

#include "status/page_parts.h"

namespace doppel {

ClusterPart cluster_part(const ResolverStatus& status, int64_t now_ms) {
  ClusterPart out{.role = "resolver", .decides = true};
  if (status.waiting_since_ms != 0)
    out.facts.emplace_back(
        "waiting for", fmt::format("{} ({} s)", status.missing, (now_ms - status.waiting_since_ms) / 1000));
  out.facts.emplace_back("originals in the window", page::count(status.window_originals));
  out.facts.emplace_back("questions", fmt::format("{} batches, {} documents",
                                                  page::count(status.asked_batches), status.asked_documents));
  for (const ResolverStatus::Matcher& matcher : status.matchers)
    out.matchers.push_back({.shards = matcher.shards,
                            .heard_ms = matcher.heard_ms,
                            .ahead = matcher.ahead,
                            .behind_batches = matcher.behind_batches,
                            .in_use = matcher.in_use});
  return out;
}

ClusterPart cluster_part(const MatcherStatus& status) {
  ClusterPart out{.role = "matcher of " + status.shards};
  out.facts.emplace_back("answers", status.resolver.empty() ? "nobody: no resolver has decided yet"
                                                            : "resolver " + status.resolver);
  out.facts.emplace_back("documents answered", page::count(status.answered));
  out.facts.emplace_back("known here", page::count(status.found));
  out.facts.emplace_back(
      "answered and not committed",
      fmt::format("{} of at most {}", page::count(status.ahead), page::count(status.ahead_most)));
  out.facts.emplace_back("index log behind, records",
                         page::count(static_cast<uint64_t>(std::max<int64_t>(0, status.log_behind))));
  return out;
}

}  // namespace doppel

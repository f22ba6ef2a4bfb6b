#include "serve/cluster_shown.h"

#include <fmt/format.h>

namespace doppel {

ClusterPart cluster_part(const ResolverStatus& status, int64_t now_ms) {
  ClusterPart out{.role = "resolver", .decides = true};
  if (status.waiting_since_ms != 0)
    out.facts.emplace_back(
        "waiting for", fmt::format("{} ({} s)", status.missing, (now_ms - status.waiting_since_ms) / 1000));
  out.facts.emplace_back("originals in the window", fmt::to_string(status.window_originals));
  out.facts.emplace_back(
      "questions", fmt::format("{} batches, {} documents", status.asked_batches, status.asked_documents));
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
  out.facts.emplace_back("documents answered", fmt::to_string(status.answered));
  out.facts.emplace_back("known here", fmt::to_string(status.found));
  out.facts.emplace_back("answered and not committed",
                         fmt::format("{} of at most {}", status.ahead, status.ahead_most));
  out.facts.emplace_back("index log behind, records", fmt::to_string(status.log_behind));
  return out;
}

}  // namespace doppel

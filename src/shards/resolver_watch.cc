#include "shards/resolver_watch.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/clock.h"
#include "status/page_parts.h"

namespace doppel {
namespace {

constexpr int64_t kForgetMs = 300'000;  // drops a matcher that was silent this long while others answered

}  // namespace

void ResolverWatch::heard(const ShardSet& shards, uint64_t end, uint64_t as_of) {
  const std::lock_guard lock(mutex_);
  Heard& heard = heard_[shards.text()];
  heard.shards = shards;
  heard.end = std::max(heard.end, end);
  heard.as_of = std::max(heard.as_of, as_of);
  heard.at_ms = Clock::unix_ms();
  std::erase_if(heard_, [&](const auto& named) { return named.second.at_ms < heard.at_ms - kForgetMs; });
}

void ResolverWatch::decides(uint64_t offset, uint64_t cut, uint64_t window_originals,
                            const std::vector<std::string>& in_use) {
  const std::lock_guard lock(mutex_);
  offset_ = offset;
  cut_ = cut;
  status_.window_originals = window_originals;
  status_.waiting_since_ms = 0;
  status_.missing.clear();
  for (auto& [name, heard] : heard_)
    heard.in_use = std::find(in_use.begin(), in_use.end(), name) != in_use.end();
}

void ResolverWatch::waits(const std::string& missing) {
  const std::lock_guard lock(mutex_);
  if (status_.waiting_since_ms == 0) status_.waiting_since_ms = Clock::unix_ms();
  status_.missing = missing;
}

void ResolverWatch::asked_batch() {
  const std::lock_guard lock(mutex_);
  ++status_.asked_batches;
}

void ResolverWatch::asked_document() {
  const std::lock_guard lock(mutex_);
  ++status_.asked_documents;
}

ResolverStatus ResolverWatch::status() const {
  const std::lock_guard lock(mutex_);
  ResolverStatus out = status_;
  for (const auto& [name, heard] : heard_)
    out.matchers.push_back({.shards = name,
                            .heard_ms = heard.at_ms,
                            .ahead = heard.end > offset_ ? heard.end - offset_ : 0,
                            .behind_batches = cut_ > heard.as_of ? cut_ - heard.as_of : 0,
                            .in_use = heard.in_use});
  return out;
}

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

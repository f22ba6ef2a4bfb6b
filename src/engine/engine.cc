#include "engine/engine.h"

#include <cmath>
#include <functional>
#include <thread>
#include <vector>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/status.h"

namespace doppel {
namespace {

IndexOptions index_options(const EngineOptions& o) {
  return {.num_perm = o.scheme.num_perm,
          .banding = o.rule.banding,
          .min_equal = o.rule.min_equal,
          .max_listed = o.rule.max_listed,
          .shards = o.shards,
          .key = o.scheme.key,
          .initial_capacity = o.initial_capacity,
          .track_ids = o.track_ids,
          .track_payloads = static_cast<bool>(o.payload_of)};
}

}  // namespace

absl::StatusOr<Rule> make_rule(double threshold, double recall, int num_perm, int bands, int rows) {
  Rule rule;
  if (!(threshold > 0 && threshold <= 1)) return invalid("threshold must be above 0 and at most 1");
  rule.threshold_ppm = static_cast<uint32_t>(std::llround(threshold * 1e6));
  if (bands != 0 || rows != 0) {
    if (bands < 1 || rows < 1) return invalid("bands and rows must be given together, both at least 1");
    if (bands * rows > num_perm) {
      return invalid("bands x rows is " + std::to_string(bands * rows) + ", more than num_perm (" +
                     std::to_string(num_perm) + ")");
    }
    rule.banding = {.bands = bands, .rows = rows};
  } else {
    ASSIGN_OR_RETURN(rule.banding, choose_banding(threshold, recall, num_perm));
  }
  rule.min_equal = min_equal_slices(rule.threshold_ppm, num_perm);
  return rule;
}

std::string describe_rule(const Rule& rule) {
  auto line = [](const char* name, const std::string& value) {
    return std::string(name) + "=" + value + "\n";
  };
  std::string out = line("threshold_ppm", std::to_string(rule.threshold_ppm)) +
                    line("bands", std::to_string(rule.banding.bands)) +
                    line("rows", std::to_string(rule.banding.rows)) +
                    line("verify", rule.verify == Verify::exact ? "exact" : "signature") +
                    line("min_equal", std::to_string(rule.min_equal)) +
                    line("max_listed", std::to_string(rule.max_listed)) +
                    line("max_checks", std::to_string(rule.max_checks)) +
                    line("expire_after_ms", std::to_string(rule.expire_after_ms));
  // What was added later is named only where it is in use, so that older directories stay what they are.
  if (rule.max_documents != 0) out += line("max_documents", std::to_string(rule.max_documents));
  if (rule.replace) out += line("on_update", "replace");
  if (rule.expire_after_ms != 0) {
    out += line("generation", std::to_string(rule.generation)) +
           line("watermark_rank", std::to_string(rule.watermark_rank));
  }
  return out;
}

void Work::resize(size_t documents, const EngineOptions& options) {
  sign.resize(documents, options.scheme.num_perm);
  band_keys.resize(documents * options.rule.banding.bands);
  matched.resize(documents);
  forget.clear();
}

Engine::Engine(const EngineOptions& options, Bodies& bodies)
    : options_(options),
      index_(index_options(options)),
      matcher_(options_.rule, index_, bodies, options_.payload_of),
      resolver_(options_.rule, index_, bodies, matcher_),
      id_salt_(options.scheme.key.derive("id")) {}

uint64_t Engine::id_tag(std::string_view id) const {
  return XXH3_64bits_withSeed(id.data(), id.size(), id_salt_);
}

absl::Status Engine::match(Work& work, size_t begin, size_t end, MatchCounters& counters) const {
  return matcher_.match(work.sign, begin, end, work.band_keys, work.matched, counters);
}

absl::Status Engine::resolve(Work& work, const std::function<absl::Status(size_t)>& read) {
  const std::lock_guard lock(growing_);
  return resolver_.resolve(work.sign, work.band_keys, work.matched, work.forget, read, work.resolved);
}

bool Engine::knows_payload(const Digest& payload) const {
  const std::shared_lock lock(growing_);
  std::string metadata;
  const absl::StatusOr<std::optional<Seq>> found = matcher_.find_payload(payload, metadata);
  return found.ok() && found->has_value();
}

RemovalReason Engine::why_dead(int64_t trusted_ms) const {
  if (options_.rule.max_documents == 0) return RemovalReason::expired;
  return resolver_.expiry().too_old(trusted_ms) ? RemovalReason::expired : RemovalReason::evicted;
}

Outcome Engine::decide(const Work& work, size_t i) const {
  const SignedDocument& document = work.sign.documents[i];
  const Matched& matched = work.matched[i];
  if (document.content > Content::digest_only) {
    return {.verdict = verdict_without_text(document.content)};
  }
  Outcome outcome{.verdict = Verdict::unique};
  const Verified* best = nullptr;
  for (const Verified& candidate : matched.candidates) {
    if (candidate.checked && (best == nullptr || better(candidate, *best))) best = &candidate;
  }
  if (matched.exact.has_value()) {
    outcome = {
        .verdict = Verdict::duplicate, .kind = Kind::exact, .similarity = {1, 1}, .seq = *matched.exact};
  } else if (best != nullptr && reaches(best->overlap, options_.rule.threshold_ppm)) {
    outcome = {.verdict = Verdict::duplicate,
               .kind = Kind::near,
               .estimated = best->estimated,
               .similarity = best->overlap,
               .seq = best->seq};
  }
  if (outcome.verdict == Verdict::duplicate) outcome.original = matched.metadata;
  return outcome;
}

absl::Status Engine::start_restore(Seq first_row, Seq lowest_live, std::string_view clock) {
  index_.start_at(first_row);
  restore_lowest_live_ = lowest_live;
  return resolver_.expiry().start_restore(lowest_live, clock);
}

void Engine::restore(const StoredRow& row) {
  index_.restore(row.row, row.removed);
  resolver_.restore_row(row);
}

void Engine::restore_removed(Seq seq, int64_t trusted_ms) {
  index_.remove(seq);
  resolver_.expiry().known_late(seq, trusted_ms);
}

absl::Status Engine::restore_clock(Seq lowest_live, std::string_view clock) {
  restore_lowest_live_ = std::max(restore_lowest_live_, lowest_live);
  return resolver_.expiry().start_restore(restore_lowest_live_, clock);
}

void Engine::finish_restore(int threads) {
  resolver_.expiry().finish_restore();
  if (restore_lowest_live_ > index_.lowest_live())
    index_.expire_below(std::min(restore_lowest_live_, index_.next_seq()));
  index_.build_tables(threads, [](int parts, const std::function<void(int)>& part) {
    std::vector<std::jthread> others;
    for (int p = 1; p < parts; ++p) others.emplace_back([&part, p] { part(p); });
    part(0);
  });
}

}  // namespace doppel

#include "metrics/stream_metrics.h"

#include <algorithm>
#include <cmath>
#include <string_view>

namespace doppel {
namespace {

struct OutcomeName {
  std::string_view verdict, kind;
};
// The verdicts in the order of place_of(): duplicates by kind.
constexpr OutcomeName kOutcomeNames[] = {
    {"unique", "none"},   {"duplicate", "exact"}, {"duplicate", "near"}, {"unscored", "none"},
    {"rejected", "none"}, {"skipped", "none"},    {"removal", "none"},   {"duplicate", "contained"}};

size_t place_of(const Outcome& outcome) {
  switch (outcome.verdict) {
    case Verdict::unique:
      return 0;
    case Verdict::duplicate:
      return outcome.kind == Kind::exact ? 1 : outcome.kind == Kind::contained ? 7 : 2;
    case Verdict::unscored:
      return 3;
    case Verdict::rejected:
      return 4;
    case Verdict::skipped:
      return 5;
    case Verdict::removal:
      return 6;
  }
  return 3;
}

constexpr std::string_view kStageNames[] = {"read", "sign", "match", "resolve", "write", "settle", "commit"};

std::vector<double> counts_to(int limit) {
  std::vector<double> bounds{0, 1};
  for (int bound = 2; bound <= limit; bound *= 2) bounds.push_back(bound);
  return bounds;
}

double seconds(BatchTimes::Duration duration) { return std::chrono::duration<double>(duration).count(); }

}  // namespace

std::vector<double> similarity_bounds(uint32_t threshold_ppm) {
  const int threshold = static_cast<int>((threshold_ppm + 5000) / 10'000);
  std::vector<double> bounds;
  for (int hundredth = 50; hundredth <= 100; ++hundredth) {
    if (hundredth % 5 == 0 || std::abs(hundredth - threshold) <= 5) bounds.push_back(hundredth / 100.0);
  }
  return bounds;
}

StreamMetrics::StreamMetrics(const StreamMetricsOptions& options)
    : options_(options),
      unique_similarity_(similarity_bounds(options.rule.threshold_ppm)),
      duplicate_similarity_(similarity_bounds(options.rule.threshold_ppm)),
      candidates_(counts_to(1024)),
      checks_(counts_to(std::max(64, options.rule.max_checks))),
      latency_({.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300, 1800, 7200, 86'400}),
      commit_({.002, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60}),
      stages_(kStages, Distribution({.0001, .0003, .001, .003, .01, .03, .1, .3, 1, 3, 10, 30})) {
  for (size_t hundredth = 0; hundredth < similarity_bucket_.size(); ++hundredth)
    similarity_bucket_[hundredth] =
        static_cast<uint8_t>(unique_similarity_.bucket_of(static_cast<double>(hundredth) / 100.0));
}

void StreamMetrics::begins_at(const SettledPartition& partition) {
  std::lock_guard lock(mutex_);
  settled_[{partition.topic, partition.partition}] = partition;
}

void StreamMetrics::begins_at(Seq lowest_live) {
  std::lock_guard lock(mutex_);
  lowest_live_ = lowest_live;
}

void StreamMetrics::committed(double took) {
  std::lock_guard lock(mutex_);
  commit_.add(took);
}

void StreamMetrics::observe(const Decided& decided, const BatchTimes& times, int64_t now_ms) {
  const std::vector<Record>& records = decided.batch.records;
  std::lock_guard lock(mutex_);
  for (size_t i = 0; i < records.size(); ++i) count_document(decided, i);
  count_latency(records, now_ms);
  count_dead(decided.work.resolved);
  advance(records);
  tally_.better += decided.work.resolved.better.size();
  tally_.problems += decided.batch.problems.size();
  tally_.listings_capped += decided.work.resolved.listings_capped;
  tally_.prints_capped += decided.work.resolved.prints_capped;
  const BatchTimes::Duration durations[] = {times.read,  times.sign,   times.match, times.resolve,
                                            times.write, times.settle, times.commit};
  for (size_t stage = 0; stage < kStages; ++stage) stages_[stage].add(seconds(durations[stage]));
  if (!records.empty()) last_document_ms_ = now_ms;
  last_commit_ms_ = now_ms;
}

void StreamMetrics::count_document(const Decided& decided, size_t i) {
  const Record& record = decided.batch.records[i];
  const Outcome& outcome = decided.work.resolved.outcomes[i];
  const size_t place = place_of(outcome);
  ++tally_.documents[place];
  tally_.bytes[place] += record.value.size();
  if (outcome.verdict == Verdict::unique || outcome.verdict == Verdict::duplicate) {
    count_similarity(outcome);
    const std::optional<Relation> relation = strongest_relation(outcome);
    if (relation && outcome.verdict == Verdict::unique) ++tally_.relations[*relation];
  } else if (outcome.verdict == Verdict::unscored) {
    ++tally_.unscored[static_cast<size_t>(reason_of(decided.work.sign.documents[i].reason))];
  } else if (outcome.verdict == Verdict::rejected) {
    ++tally_.rejected[static_cast<size_t>(reason_of(decided.work.sign.documents[i].reason))];
  } else if (outcome.verdict == Verdict::skipped) {
    ++tally_.skipped[static_cast<size_t>(reason_of(decided.work.sign.documents[i].reason))];
  }
}

// For unique documents the similarity is that of the closest candidate: how close they were to being copies.
void StreamMetrics::count_similarity(const Outcome& outcome) {
  if (outcome.candidates == 0) {  // true for most documents
    candidates_.add(0, 1, 0);
    checks_.add(0, 1, 0);
  } else {
    const auto add = [](Distribution& values, uint32_t count) {
      values.add(count <= 1 ? count : values.bucket_of(count), 1, count);
    };
    add(candidates_, outcome.candidates);
    add(checks_, outcome.checks);
    if (outcome.candidates > static_cast<uint32_t>(options_.rule.max_checks)) ++tally_.checks_capped;
  }
  if (outcome.verdict == Verdict::duplicate) {
    add_similarity(true, similarity_ppm(outcome.similarity));
  } else if (outcome.checks != 0) {
    add_similarity(false, similarity_ppm(outcome.closest));
  }
}

void StreamMetrics::add_similarity(bool duplicate, uint32_t ppm) {
  Distribution& values = duplicate ? duplicate_similarity_ : unique_similarity_;
  values.add(similarity_bucket_[(ppm + 9999) / 10'000], 1, ppm / 1e6);
}

// The timestamps of a batch are close together, so usually all its records are in one bucket.
void StreamMetrics::count_latency(const std::vector<Record>& records, int64_t now_ms) {
  if (options_.replay || !options_.kafka) return;
  int64_t least = INT64_MAX, most = INT64_MIN, sum = 0;
  uint64_t count = 0;
  for (const Record& record : records) {
    if (record.timestamp_ms < 0) continue;
    const int64_t age = std::max<int64_t>(0, now_ms - record.timestamp_ms);
    least = std::min(least, age);
    most = std::max(most, age);
    sum += age;
    ++count;
  }
  if (count == 0) return;
  const size_t bucket = latency_.bucket_of(static_cast<double>(least) / 1e3);
  if (bucket == latency_.bucket_of(static_cast<double>(most) / 1e3)) {
    latency_.add(bucket, count, static_cast<double>(sum) / 1e3);
    return;
  }
  for (const Record& record : records) {
    if (record.timestamp_ms >= 0)
      latency_.add(static_cast<double>(std::max<int64_t>(0, now_ms - record.timestamp_ms)) / 1e3);
  }
}

void StreamMetrics::count_dead(const Resolved& resolved) {
  for (const Removed& removed : resolved.removed) ++tally_.removals[static_cast<size_t>(removed.reason)];
  if (resolved.lowest_live > lowest_live_) {
    // If the window is exactly full now, max_documents moved the lowest live number; otherwise it was the
    // age.
    const Rule& rule = options_.rule;
    const bool full = max_documents_ != 0 && !resolved.rows.empty() &&
                      resolved.rows.back().seq + 1 - resolved.lowest_live == max_documents_;
    const bool evicted = max_documents_ != 0 && (rule.expire_after_ms == 0 || full);
    tally_.removals[static_cast<size_t>(evicted ? RemovalReason::evicted : RemovalReason::expired)] +=
        resolved.lowest_live - lowest_live_;
  }
  lowest_live_ = std::max(lowest_live_, resolved.lowest_live);
}

// The records of a partition are adjacent, so only the last of each run counts.
void StreamMetrics::advance(const std::vector<Record>& records) {
  for (size_t i = 0; i < records.size(); ++i) {
    const Record& record = records[i];
    if (record.partition < 0) return;  // files
    const bool last = i + 1 == records.size() || records[i + 1].partition != record.partition ||
                      records[i + 1].source.data() != record.source.data();
    if (!last) continue;
    SettledPartition& settled = settled_[{std::string(record.source), record.partition}];
    settled.topic = record.source;
    settled.partition = record.partition;
    settled.next = static_cast<int64_t>(record.offset) + 1;
    settled.last_ms = record.timestamp_ms;
  }
}

std::vector<SettledPartition> StreamMetrics::settled() const {
  std::lock_guard lock(mutex_);
  std::vector<SettledPartition> out;
  out.reserve(settled_.size());
  for (const auto& [name, partition] : settled_) out.push_back(partition);
  return out;
}

void StreamMetrics::collect(Families& out) const {
  std::lock_guard lock(mutex_);
  const std::string replay = options_.replay ? "true" : "false";
  for (size_t i = 0; i < std::size(kOutcomeNames); ++i) {
    const auto& [verdict, kind] = kOutcomeNames[i];
    if (kind == "contained" && !options_.rule.relations.partial_duplicate) continue;
    const Labels labels{{"verdict", std::string(verdict)}, {"kind", std::string(kind)}, {"replay", replay}};
    out.counter("doppel_documents_total", "Documents whose verdict is settled.",
                static_cast<double>(tally_.documents[i]), labels);
  }
  for (size_t i = 0; i < std::size(kOutcomeNames); ++i) {
    const auto& [verdict, kind] = kOutcomeNames[i];
    if (kind == "contained" && !options_.rule.relations.partial_duplicate) continue;
    const Labels labels{{"verdict", std::string(verdict)}, {"kind", std::string(kind)}, {"replay", replay}};
    out.counter("doppel_document_bytes_total", "Bytes of the records of these documents.",
                static_cast<double>(tally_.bytes[i]), labels);
  }
  const auto by_reason = [&](std::string_view name, std::string_view help, bool ReasonInfo::* counts_it,
                             const std::array<uint64_t, kReasons>& counts) {
    std::map<std::string_view, uint64_t> sums;
    for (const ReasonInfo& info : reasons()) {
      const uint64_t count = counts[static_cast<size_t>(info.reason)];
      if (info.*counts_it)
        sums[info.label] += count;
      else if (count != 0)
        sums["other"] += count;
    }
    for (const auto& [label, count] : sums)
      out.counter(name, help, static_cast<double>(count),
                  {{"reason", std::string(label)}, {"replay", replay}});
  };
  by_reason("doppel_rejected_total", "Records that could not be decoded.", &ReasonInfo::rejects,
            tally_.rejected);
  by_reason("doppel_skipped_total", "Records that are not judged.", &ReasonInfo::skips, tally_.skipped);
  by_reason("doppel_unscored_total", "Documents without a text of their own.", &ReasonInfo::unscores,
            tally_.unscored);
  out.counter("doppel_input_problems_total", "Inputs that could not be read as a whole.",
              static_cast<double>(tally_.problems));

  constexpr std::string_view kSimilarity =
      "Similarity to the original (duplicates) or to the most similar candidate (unique documents).";
  out.histogram("doppel_similarity_ratio", kSimilarity, duplicate_similarity_,
                {{"verdict", "duplicate"}, {"replay", replay}});
  out.histogram("doppel_similarity_ratio", kSimilarity, unique_similarity_,
                {{"verdict", "unique"}, {"replay", replay}});
  out.histogram("doppel_document_candidates", "Candidates that the index found for a document.", candidates_);
  out.histogram("doppel_document_checks", "Candidates of a document whose sets were compared.", checks_);
  out.counter("doppel_checks_capped_total", "Documents with more candidates than max_checks.",
              static_cast<double>(tally_.checks_capped));
  out.counter(
      "doppel_listings_capped_total",
      "How often a band did not list an original because it already listed max_listed under the same key.",
      static_cast<double>(tally_.listings_capped));
  for (const Relation relation : kRelations) {
    const RelationRule& rule = options_.rule.relations;
    if (relation == Relation::similar ? !rule.knows(relation) : !rule.on()) continue;
    out.counter("doppel_relations_total",
                "Unique documents that are related to originals, by their strongest relation.",
                static_cast<double>(tally_.relations[relation]),
                {{"relation", std::string(relation_name(relation))}, {"replay", replay}});
  }
  if (options_.rule.relations.on()) {
    out.counter("doppel_prints_capped_total",
                "How often a print did not list an original because it already listed max_listed.",
                static_cast<double>(tally_.prints_capped));
  }
  out.counter("doppel_better_copies_total", "Copies that are better than what their cluster showed.",
              static_cast<double>(tally_.better), {{"replay", replay}});
  for (size_t reason = 0; reason < tally_.removals.size(); ++reason)
    out.counter("doppel_originals_removed_total", "Originals that were removed, by reason.",
                static_cast<double>(tally_.removals[reason]),
                {{"reason", std::string(removal_reason_name(static_cast<RemovalReason>(reason)))}});

  for (size_t stage = 0; stage < kStages; ++stage)
    out.histogram("doppel_stage_duration_seconds", "How long the main loop waited for a stage of a batch.",
                  stages_[stage], {{"stage", std::string(kStageNames[stage])}});
  out.gauge("doppel_last_document_timestamp_seconds", "When the last document was settled; 0: none yet.",
            static_cast<double>(last_document_ms_) / 1e3);
  out.gauge("doppel_last_commit_timestamp_seconds", "When the last batch was committed; 0: none yet.",
            static_cast<double>(last_commit_ms_) / 1e3);
  if (!options_.kafka) return;
  out.histogram("doppel_end_to_end_latency_seconds", "From the record's timestamp to its settled verdict.",
                latency_);
  out.histogram("doppel_transaction_commit_duration_seconds",
                "From the begin of a transaction until it is known to be committed, all attempts together.",
                commit_);
}

}  // namespace doppel

#pragma once
// Metrics of the stream, counted for each settled batch.

#include <array>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "base/reason.h"
#include "metrics/families.h"
#include "pipeline/pipeline.h"

namespace doppel {

struct StreamMetricsOptions {
  Rule rule;
  bool replay = false;  // a rebuild, whose documents were judged before and are kept out of rates
  bool kafka = false;   // records have timestamps, and batches are transactions
};

// Up to where a partition is settled.
struct SettledPartition {
  std::string topic;
  int32_t partition = 0;
  int64_t next = 0;      // offset behind the last settled record
  int64_t last_ms = -1;  // timestamp of that record
};

class StreamMetrics {
 public:
  explicit StreamMetrics(const StreamMetricsOptions& options);

  // Counts a settled batch. The pipeline's thread calls it. `now_ms` is the machine's clock.
  void observe(const Decided& decided, const BatchTimes& times, int64_t now_ms);
  // Counts a committed transaction.
  void committed(double seconds);
  // Set the position of a partition and the lowest live number at the start of the run. A signer, which
  // observes no batches, also calls the first one after each commit.
  void begins_at(const SettledPartition& partition);
  void begins_at(Seq lowest_live);
  // Sets Rule::max_documents of the restored index. Call it before the first observe().
  void holds(uint64_t max_documents) { max_documents_ = max_documents; }

  // Any thread may call these.
  void collect(Families& out) const;
  std::vector<SettledPartition> settled() const;

 private:
  static constexpr size_t kOutcomes = 8;  // verdicts, with duplicates by kind
  static constexpr size_t kStages = 7;
  static constexpr size_t kReasons = static_cast<size_t>(Reason::other) + 1;

  struct Tally {
    std::array<uint64_t, kOutcomes> documents{}, bytes{};
    std::array<uint64_t, kReasons> rejected{}, skipped{}, unscored{};
    uint64_t problems = 0;
    std::array<uint64_t, 5> removals{};  // by RemovalReason, including what RESOLVE removes by itself
    uint64_t listings_capped = 0, prints_capped = 0, checks_capped = 0;
    uint64_t better = 0;  // better copies
    RelationCounts relations;
  };

  void count_document(const Decided& decided, size_t i);
  void count_similarity(const Outcome& outcome);
  void count_latency(const std::vector<Record>& records, int64_t now_ms);
  void count_dead(const Resolved& resolved);
  void advance(const std::vector<Record>& records);
  void add_similarity(bool duplicate, uint32_t ppm);

  const StreamMetricsOptions options_;
  mutable std::mutex mutex_;  // guards the members below; locked once for each batch and each scrape
  Tally tally_;
  Distribution unique_similarity_, duplicate_similarity_;
  std::array<uint8_t, 102> similarity_bucket_{};  // by similarity in hundredths, rounded up
  Distribution candidates_, checks_, latency_, commit_;
  std::vector<Distribution> stages_;
  Seq lowest_live_ = 0;
  uint64_t max_documents_ = options_.rule.max_documents;
  int64_t last_document_ms_ = 0, last_commit_ms_ = 0;
  std::map<std::pair<std::string, int32_t>, SettledPartition, std::less<>> settled_;
};

// Bounds from .5 to 1 in steps of .05, and in steps of .01 within .05 of the threshold.
std::vector<double> similarity_bounds(uint32_t threshold_ppm);

}  // namespace doppel

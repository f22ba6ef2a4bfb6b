// The counts of each batch, against a recount that goes through one document at a time.

#include "metrics/stream_metrics.h"

#include <absl/strings/str_cat.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <sstream>

#include "metrics/kafka_metrics.h"
#include "metrics/stream_run.h"

namespace doppel {
namespace {

using Series = std::map<std::string, double>;

// Parses name{labels} -> value, as a scrape shows it; also names with an inner le.
Series read(const std::string& text) {
  Series out;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.empty() || line[0] == '#') continue;
    const size_t space = line.rfind(' ');
    const bool fresh = out.emplace(line.substr(0, space), std::stod(line.substr(space))).second;
    EXPECT_TRUE(fresh) << "twice: " << line;
  }
  return out;
}

Series shown(const StreamMetrics& metrics) {
  Families families;
  metrics.collect(families);
  return read(to_text(families.take()));
}

// Computes the same numbers in another way: no shared buckets, no vectors, one comparison for each bound.
struct Recount {
  explicit Recount(const Rule& of) : rule(of) {}

  void add(const std::string& name, double value = 1) { series[name] += value; }
  void histogram(const std::string& name, std::string labels, const std::vector<std::string>& bounds,
                 double value) {
    const std::string comma = labels.empty() ? "" : ",";
    for (const std::string& bound : bounds) {
      if (bound == "+Inf" || value <= std::stod(bound))
        add(absl::StrCat(name, "_bucket{", labels, comma, "le=\"", bound, "\"}"));
    }
    if (!labels.empty()) labels = "{" + labels + "}";
    add(name + "_count" + labels);
    add(name + "_sum" + labels, value);
  }

  void observe(const Decided& decided, int64_t now_ms) {
    for (size_t i = 0; i < decided.batch.records.size(); ++i) one(decided, i, now_ms);
  }

  void one(const Decided& decided, size_t i, int64_t now_ms) {
    const Record& record = decided.batch.records[i];
    const Outcome& outcome = decided.work.resolved.outcomes[i];
    const std::string reason = decided.work.sign.documents[i].reason;
    std::string verdict, kind = "none";
    switch (outcome.verdict) {
      case Verdict::unique:
        verdict = "unique";
        if (!outcome.related.empty()) {
          const auto has = [&](Relation relation) {
            return std::any_of(outcome.related.begin(), outcome.related.end(),
                               [&](const Related& related) { return related.relation == relation; });
          };
          add(std::string("doppel_relations_total{relation=\"") +
              (has(Relation::contained)  ? "contained"
               : has(Relation::contains) ? "contains"
                                         : "shares") +
              "\",replay=\"false\"}");
        }
        break;
      case Verdict::duplicate:
        verdict = "duplicate";
        kind = outcome.kind == Kind::exact ? "exact" : "near";
        break;
      case Verdict::unscored:
        verdict = "unscored";
        add("doppel_unscored_total{reason=\"empty\",replay=\"false\"}");
        break;
      case Verdict::rejected:
        verdict = "rejected";
        add(std::string("doppel_rejected_total{reason=\"") +
            (reason.find("JSON") != std::string::npos ? "not_json" : "no_text") + "\",replay=\"false\"}");
        break;
      case Verdict::skipped:
        verdict = "skipped";
        add("doppel_skipped_total{reason=\"null_value\",replay=\"false\"}");
        break;
      case Verdict::removal:
        verdict = "removal";
        break;
    }
    const std::string labels = "verdict=\"" + verdict + "\",kind=\"" + kind + "\",replay=\"false\"";
    add("doppel_documents_total{" + labels + "}");
    add("doppel_document_bytes_total{" + labels + "}", static_cast<double>(record.value.size()));
    if (record.timestamp_ms >= 0) {
      histogram("doppel_end_to_end_latency_seconds", "",
                {"0.005", "0.01", "0.025", "0.05", "0.1", "0.25", "0.5", "1", "2.5", "5", "10", "30", "60",
                 "300", "1800", "7200", "86400", "+Inf"},
                static_cast<double>(now_ms - record.timestamp_ms) / 1e3);
    }
    if (verdict != "unique" && verdict != "duplicate") return;
    const std::vector<std::string> counts{"0",  "1",   "2",   "4",   "8",    "16",  "32",
                                          "64", "128", "256", "512", "1024", "+Inf"};
    histogram("doppel_document_candidates", "", counts, outcome.candidates);
    histogram("doppel_document_checks", "", {"0", "1", "2", "4", "8", "16", "32", "64", "+Inf"},
              outcome.checks);
    if (verdict == "unique" && outcome.checks == 0) return;
    const double best = similarity_ppm(verdict == "duplicate" ? outcome.similarity : outcome.closest) / 1e6;
    histogram("doppel_similarity_ratio", "verdict=\"" + verdict + "\",replay=\"false\"",
              {"0.5", "0.55", "0.6",  "0.65", "0.7",  "0.75", "0.76", "0.77", "0.78", "0.79",
               "0.8", "0.81", "0.82", "0.83", "0.84", "0.85", "0.9",  "0.95", "1",    "+Inf"},
              best);
  }

  const Rule& rule;
  Series series;
};

TEST(StreamMetrics, CountWhatARecountCounts) {
  const uint64_t seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  constexpr int64_t kNow = 1'800'000'000'000;
  const std::vector<testing::MadeRecord> records = testing::make_records(seed, 6000, kNow);
  EngineOptions options;
  options.rule = make_rule(0.8, 0.995, 128).value();
  options.scheme.passage = 150;
  options.rule.relations = {.contained = true, .contains = true, .passage = options.scheme.passage};
  const std::unique_ptr<Bodies> bodies = memory_bodies();
  Engine engine(options, *bodies);
  testing::MadeSource source(records, 97);
  testing::NoSink sink;
  StreamMetrics metrics({.rule = options.rule, .kafka = true});
  Recount recount(options.rule);
  Pipeline pipeline{.source = source, .engine = engine, .sink = sink};
  pipeline.observe = [&](const Decided& decided, const BatchTimes& times) {
    metrics.observe(decided, times, kNow);
    recount.observe(decided, kNow);
  };
  ASSERT_TRUE(run_pipeline(pipeline).ok());

  const Series series = shown(metrics);
  EXPECT_TRUE(recount.series.contains("doppel_relations_total{relation=\"contained\",replay=\"false\"}"));
  size_t compared = 0;
  for (const auto& [name, value] : recount.series) {
    const auto it = series.find(name);
    ASSERT_NE(it, series.end()) << name;
    EXPECT_NEAR(it->second, value, 1e-6 * value) << name;
    ++compared;
  }
  EXPECT_GT(compared, 80u);                   // of every kind
  for (const auto& [name, value] : series) {  // and nothing that the recount lacks
    if (name.starts_with("doppel_stage") || name.find("timestamp") != std::string::npos) continue;
    if (value == 0) continue;
    EXPECT_TRUE(recount.series.contains(name)) << name << " " << value;
  }

  std::map<int32_t, std::pair<int64_t, int64_t>> last;
  for (const testing::MadeRecord& r : records)
    last[r.partition] = {static_cast<int64_t>(r.offset) + 1, r.timestamp_ms};
  for (const SettledPartition& p : metrics.settled()) {
    EXPECT_EQ(p.topic, "documents");
    EXPECT_EQ(std::pair(p.next, p.last_ms), last[p.partition]);
  }
  EXPECT_EQ(metrics.settled().size(), 3u);
}

TEST(StreamMetrics, SimilarityIsFineAroundTheThreshold) {
  EXPECT_EQ(similarity_bounds(800'000).size(), 11u + 8u);
  EXPECT_EQ(similarity_bounds(1'000'000).back(), 1.0);
  EXPECT_EQ(similarity_bounds(500'000).front(), 0.5);
}

TEST(StreamMetrics, ExpiryAndEvictionAreToldApart) {
  EngineOptions options;
  options.rule = make_rule(0.8, 0.995, 128).value();
  options.rule.max_documents = 100;
  const std::unique_ptr<Bodies> bodies = memory_bodies();
  Engine engine(options, *bodies);
  const std::vector<testing::MadeRecord> records = testing::make_records(7, 3000, 1'800'000'000'000);
  testing::MadeSource source(records, 50);
  testing::NoSink sink;
  StreamMetrics metrics({.rule = options.rule});
  Pipeline pipeline{.source = source, .engine = engine, .sink = sink};
  pipeline.observe = [&](const Decided& decided, const BatchTimes& times) {
    metrics.observe(decided, times, 0);
  };
  ASSERT_TRUE(run_pipeline(pipeline).ok());
  const Series series = shown(metrics);
  EXPECT_EQ(series.at("doppel_originals_removed_total{reason=\"evicted\"}"),
            static_cast<double>(engine.originals().lowest_live()));
  EXPECT_EQ(series.at("doppel_originals_removed_total{reason=\"expired\"}"), 0);
}

TEST(StreamMetrics, ReplayKeepsOutOfRates) {
  StreamMetrics metrics({.rule = make_rule(0.8, 0.995, 128).value(), .replay = true});
  for (const auto& [name, value] : shown(metrics)) {
    if (!name.starts_with("doppel_documents_total")) continue;
    EXPECT_NE(name.find("replay=\"true\""), std::string::npos) << name;
  }
}

TEST(Lag, CountsRecordsAndNoMarkers) {
  kafka::ConsumerStatistics::Partition p{.topic = "t", .end = 100, .fetched = 60, .taken = 40, .queued = 20};
  EXPECT_EQ(lag_of(p, {.next = 40}), 60);
  EXPECT_EQ(lag_of(p, {.next = 10}), 90);
  // The last offset is a marker: all records are settled.
  p = {.topic = "t", .end = 100, .fetched = 100, .taken = 99, .queued = 0};
  EXPECT_EQ(lag_of(p, {.next = 99}), 0);
  EXPECT_EQ(lag_of(p, {.next = 98}), 2);
  p.end = -1;
  EXPECT_EQ(lag_of(p, {.next = 98}), -1);
}

}  // namespace
}  // namespace doppel

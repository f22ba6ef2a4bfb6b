#pragma once
// The output of `doppel tune`. It is computed from the rule, and measured if there is a sample.

#include <optional>
#include <string>
#include <vector>

#include "insight/sample_study.h"
#include "insight/sizing.h"

namespace doppel {

struct TuneSample {
  std::string name;      // such as "crawl.jsonl"
  uint64_t records = 0;  // records read
  bool whole = true;     // the sample is the whole input
  bool full = false;     // the sample was cut because its shingles take too much memory
  uint64_t rejected = 0, without_text = 0, too_short = 0;
  std::vector<std::string> messages;  // why the first ones were rejected
  StudyResult result;
  std::optional<SampleParts> parts;  // signed records have none, because they hold no texts
  SampleKind kind;                   // nor this
  uint64_t duplicates() const { return result.documents - result.originals; }
  uint64_t related() const;  // unique documents that are related to others
};

// Settings that find more in the sample, as they were measured on it.
struct Advice {
  std::string why;       // what the documents are
  std::string flags;     // of doppel scan
  std::string what;      // what is counted
  uint64_t now = 0;      // how many are found with the settings of the report
  uint64_t advised = 0;  // and with these flags
};

struct TuneReport {
  EngineOptions engine;
  double recall = 0.995;
  bool banding_given = false;  // bands and rows were set, not chosen
  uint64_t memory_budget = 0;  // 0: none
  std::optional<TuneSample> sample;
  // For HTML pages: the extraction of the sample, and the same documents with the other extraction.
  std::string extract, other_extract;
  std::optional<TuneSample> other;
  std::vector<Advice> advice;
};

std::string tune_text(const TuneReport& report, bool utf8);
std::string tune_json(const TuneReport& report);
std::string tune_svg(const TuneReport& report);

// Parts that both the text and the JSON show.
inline double threshold_of(const TuneReport& report) { return report.engine.rule.threshold_ppm / 1e6; }
std::vector<double> similarities_around(double threshold);
struct Alternative {
  Banding banding;
  bool chosen = false;
  bool reaches_recall = false;
};
std::vector<Alternative> alternatives(const TuneReport& report);
IndexShape index_shape(const TuneReport& report, Banding banding);
// The originals that the memory budget holds as the setting `memory`; nullopt: there is no budget.
struct WithSegments {
  double originals = 0;
  double young = 0;  // of them: in tables
  double disk = 0;   // bytes of all
};
std::optional<WithSegments> with_segments(const TuneReport& report, const IndexCost& cost);
// Lengths of passages, in words, for which the report states the chance that they are found.
std::vector<uint32_t> passages_around(const TuneReport& report);

// For `count` originals whose similarities are spread evenly below the threshold: how many of them share a
// band with a document, and how many of these pass the prefilter and are verified in vain.
struct WastedWork {
  double met = 0, verified = 0;
};
inline constexpr double kSpread = 100;  // the `count` that the output assumes
// The probability of equal slices. Slots of unrelated shingles have equal slices with probability 1/256.
inline double equal_slice_chance(double s) { return s + (1 - s) / 256; }
WastedWork wasted_work(const Rule& rule, int num_perm, double count);

}  // namespace doppel

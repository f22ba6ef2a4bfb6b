#pragma once
// Logs the progress of a daemon: a line every ten seconds, and the first complaints about single records.

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "engine/originals.h"
#include "fetch/fetch_pool.h"
#include "pipeline/pipeline.h"

namespace doppel {

class Report {
 public:
  // `index` outlives the report.
  explicit Report(const Originals& index) : index_(index) {}

  // Logs a line at most every ten seconds, and only if records came.
  void progress(const Counters& now);
  // Logs at most ten complaints between two lines of progress. progress() logs how many it left out.
  void complain(std::string_view message);
  // Logs the totals of the run.
  void end(const Counters& counters) const;

 private:
  using Clock = std::chrono::steady_clock;
  const Originals& index_;
  Clock::time_point start_ = Clock::now();
  Clock::time_point logged_ = start_;
  Counters before_;
  uint64_t complaints_ = 0;
};

// Logs how many of the records that crawl logs point to could be read.
void report_fetches(const FetchCounts& counts);

// Detects that doppel reads a topic with all documents together with topics that hold copies of them, so that
// nearly every document comes twice.
class OverlappingTopics {
 public:
  // Checks the first kDocuments documents. Returns a warning, once, if more than nine in ten are copies with
  // the URL and time of an original in another topic. Otherwise returns an empty text.
  std::string observe(const Decided& decided);

 private:
  static constexpr uint64_t kDocuments = 1000;
  uint64_t documents_ = 0, copies_ = 0;
  bool done_ = false;
};

}  // namespace doppel

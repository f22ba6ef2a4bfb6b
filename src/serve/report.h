#pragma once
// What a daemon says about its stream while it runs: a line now and then, and the first of the complaints
// about single records.

#include <chrono>
#include <string_view>

#include "index/index.h"
#include "stream/pipeline.h"
#include "stream/warc/fetch_pool.h"

namespace doppel {

class Report {
 public:
  // `index` outlives the report.
  explicit Report(const Index& index) : index_(index) {}

  // At most every ten seconds, and only if something came.
  void progress(const Counters& now);
  // At most ten between two lines of progress; the rest is counted there.
  void complain(std::string_view message);
  // The whole run.
  void end(const Counters& counters) const;

 private:
  using Clock = std::chrono::steady_clock;
  const Index& index_;
  Clock::time_point start_ = Clock::now();
  Clock::time_point said_ = start_;
  Counters before_;
  uint64_t complaints_ = 0;
};

// How the records that crawl logs point to were read.
void report_fetches(const FetchCounts& counts);

}  // namespace doppel

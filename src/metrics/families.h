#pragma once
// Metric families as they are shown: built for each scrape from plain numbers, so that what is counted
// needs no library and what belongs together is read together.

#include <prometheus/metric_family.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "metrics/distribution.h"

namespace doppel {

// Names are bounded sets of ours (a verdict, a stage, a partition): never a host, a URL or an id.
using Labels = std::vector<std::pair<std::string_view, std::string>>;

class Families {
 public:
  // A family that is named again gets one more series; its help is that of the first call.
  void gauge(std::string_view name, std::string_view help, double value, const Labels& labels = {});
  void counter(std::string_view name, std::string_view help, double value, const Labels& labels = {});
  void histogram(std::string_view name, std::string_view help, const Distribution& values,
                 const Labels& labels = {});

  std::vector<prometheus::MetricFamily> take() { return std::move(families_); }

 private:
  prometheus::ClientMetric& series(std::string_view name, std::string_view help, prometheus::MetricType type,
                                   const Labels& labels);
  std::vector<prometheus::MetricFamily> families_;
};

// Prometheus' text format. Bounds of buckets are written as short as they are meant (le="0.81").
std::string to_text(const std::vector<prometheus::MetricFamily>& families);

}  // namespace doppel

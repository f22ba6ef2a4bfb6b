#pragma once
// Metric families of one scrape, built from plain numbers. So code that counts needs no library, and numbers
// that belong together are read together.

#include <prometheus/metric_family.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "metrics/distribution.h"

namespace doppel {

// The values come from small, bounded sets (verdicts, stages, partitions), never from hosts, URLs or ids.
using Labels = std::vector<std::pair<std::string_view, std::string>>;

class Families {
 public:
  // A second call with the same name adds a series to the family; the help of the first call stays.
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

// Returns Prometheus' text format. Writes bucket bounds in their shortest form (le="0.81").
std::string to_text(const std::vector<prometheus::MetricFamily>& families);

}  // namespace doppel

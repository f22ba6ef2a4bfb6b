#pragma once
// Metric families of one scrape, built from plain numbers. So code that counts needs no library, and numbers
// that belong together are read together.

#include <prometheus/metric_family.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace doppel {

// Counts values in buckets: a value belongs to the first bucket whose upper bound is not below it.
class Distribution {
 public:
  // `bounds` are ascending upper bounds. There is one more bucket, for the values above all of them.
  explicit Distribution(std::vector<double> bounds)
      : bounds_(std::move(bounds)), counts_(bounds_.size() + 1) {}

  size_t bucket_of(double value) const {
    return static_cast<size_t>(std::lower_bound(bounds_.begin(), bounds_.end(), value) - bounds_.begin());
  }
  void add(double value) { add(bucket_of(value), 1, value); }
  void add(size_t bucket, uint64_t count, double sum) {
    counts_[bucket] += count;
    sum_ += sum;
  }

  const std::vector<double>& bounds() const { return bounds_; }
  uint64_t count(size_t bucket) const { return counts_[bucket]; }
  double sum() const { return sum_; }

 private:
  std::vector<double> bounds_;
  std::vector<uint64_t> counts_;
  double sum_ = 0;
};

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

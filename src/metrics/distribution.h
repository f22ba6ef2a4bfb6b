#pragma once
// Counts values in buckets: a value belongs to the first bucket whose upper bound is not below it.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace doppel {

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

}  // namespace doppel

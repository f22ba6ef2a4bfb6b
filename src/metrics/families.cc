#include "metrics/families.h"

#include <prometheus/text_serializer.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>

#include "absl/strings/charconv.h"

namespace doppel {

prometheus::ClientMetric& Families::series(std::string_view name, std::string_view help,
                                           prometheus::MetricType type, const Labels& labels) {
  auto family =
      std::find_if(families_.begin(), families_.end(), [&](const auto& f) { return f.name == name; });
  if (family == families_.end()) {
    prometheus::MetricFamily fresh;
    fresh.name = name;
    fresh.help = help;
    fresh.type = type;
    family = families_.insert(families_.end(), std::move(fresh));
  }
  prometheus::ClientMetric& metric = family->metric.emplace_back();
  for (const auto& [label, value] : labels) metric.label.push_back({std::string(label), value});
  return metric;
}

void Families::gauge(std::string_view name, std::string_view help, double value, const Labels& labels) {
  series(name, help, prometheus::MetricType::Gauge, labels).gauge.value = value;
}

void Families::counter(std::string_view name, std::string_view help, double value, const Labels& labels) {
  series(name, help, prometheus::MetricType::Counter, labels).counter.value = value;
}

void Families::histogram(std::string_view name, std::string_view help, const Distribution& values,
                         const Labels& labels) {
  auto& histogram = series(name, help, prometheus::MetricType::Histogram, labels).histogram;
  uint64_t below = 0;
  for (size_t i = 0; i < values.bounds().size(); ++i) {
    below += values.count(i);
    histogram.bucket.push_back({below, values.bounds()[i]});
  }
  histogram.sample_count = below + values.count(values.bounds().size());
  histogram.bucket.push_back({histogram.sample_count, std::numeric_limits<double>::infinity()});
  histogram.sample_sum = values.sum();
}

std::string to_text(const std::vector<prometheus::MetricFamily>& families) {
  constexpr std::string_view kBound = "le=\"";
  const std::string text = prometheus::TextSerializer().Serialize(families);
  std::string out;
  size_t done = 0;
  for (size_t at = text.find(kBound); at != std::string::npos; at = text.find(kBound, at)) {
    at += kBound.size();
    const char* begin = text.data() + at;
    const char* end = text.data() + text.find('"', at);
    double bound = 0;
    if (absl::from_chars(begin, end, bound).ptr != end || std::isinf(bound)) continue;
    std::array<char, 32> shortest;
    const auto written = std::to_chars(shortest.data(), shortest.data() + shortest.size(), bound);
    out.append(text, done, at - done).append(shortest.data(), written.ptr);
    done = static_cast<size_t>(end - text.data());
  }
  return out.append(text, done);
}

}  // namespace doppel

// The serializer of prometheus-cpp, of which Debian has no static library: the kinds of metrics that doppel
// has.

#include <prometheus/text_serializer.h>

#include <cmath>
#include <limits>
#include <locale>
#include <sstream>
#include <string_view>

namespace prometheus {
namespace {

void write_number(std::ostream& out, double value) {
  if (std::isnan(value)) {
    out << "Nan";
  } else if (std::isinf(value)) {
    out << (value < 0 ? "-Inf" : "+Inf");
  } else {
    out << value;
  }
}

void write_escaped(std::ostream& out, std::string_view text) {
  for (const char c : text) {
    if (c == '\n') {
      out << "\\n";
    } else if (c == '\\' || c == '"') {
      out << '\\' << c;
    } else {
      out << c;
    }
  }
}

// The name and the labels of a line. `bound` is that of a bucket.
std::ostream& begin(std::ostream& out, const MetricFamily& family, const ClientMetric& metric,
                    std::string_view suffix = "", const double* bound = nullptr) {
  out << family.name << suffix;
  const char* separator = "{";
  for (const ClientMetric::Label& label : metric.label) {
    out << separator << label.name << "=\"";
    write_escaped(out, label.value);
    out << '"';
    separator = ",";
  }
  if (bound != nullptr) {
    out << separator << "le=\"";
    write_number(out, *bound);
    out << '"';
  }
  return out << (bound != nullptr || !metric.label.empty() ? "} " : " ");
}

void write_histogram(std::ostream& out, const MetricFamily& family, const ClientMetric& metric) {
  const ClientMetric::Histogram& histogram = metric.histogram;
  begin(out, family, metric, "_count") << histogram.sample_count << '\n';
  begin(out, family, metric, "_sum");
  write_number(out, histogram.sample_sum);
  out << '\n';
  for (const ClientMetric::Bucket& bucket : histogram.bucket)
    begin(out, family, metric, "_bucket", &bucket.upper_bound) << bucket.cumulative_count << '\n';
}

}  // namespace

std::string Serializer::Serialize(const std::vector<MetricFamily>& families) const {
  std::ostringstream out;
  Serialize(out, families);
  return out.str();
}

void TextSerializer::Serialize(std::ostream& out, const std::vector<MetricFamily>& families) const {
  out.imbue(std::locale::classic());
  out.precision(std::numeric_limits<double>::max_digits10 - 1);
  for (const MetricFamily& family : families) {
    if (!family.help.empty()) out << "# HELP " << family.name << ' ' << family.help << '\n';
    const bool counter = family.type == MetricType::Counter;
    const bool histogram = family.type == MetricType::Histogram;
    out << "# TYPE " << family.name << (counter ? " counter\n" : histogram ? " histogram\n" : " gauge\n");
    for (const ClientMetric& metric : family.metric) {
      if (histogram) {
        write_histogram(out, family, metric);
      } else {
        begin(out, family, metric);
        write_number(out, counter ? metric.counter.value : metric.gauge.value);
        out << '\n';
      }
    }
  }
}

}  // namespace prometheus

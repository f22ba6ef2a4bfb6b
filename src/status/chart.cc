#include "status/chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <string_view>
#include <tuple>

namespace doppel {
namespace {

constexpr double kWidth = 600, kLeft = 80, kRight = 8, kTop = 18, kBottom = 24;
constexpr int64_t kHourMs = 3'600'000, kMinuteMs = 60'000;

struct Frame {
  int64_t begin_ms, end_ms;
  double height, most;
  // The time axis covers all samples, at least a minute and at most an hour.
  Frame(const std::vector<Sample>& samples, double high, double top) : height(high), most(top) {
    end_ms = samples.back().at_ms;
    begin_ms = end_ms - std::clamp(end_ms - samples.front().at_ms, kMinuteMs, kHourMs);
  }
  double x(int64_t ms) const {
    const double share = static_cast<double>(ms - begin_ms) / static_cast<double>(end_ms - begin_ms);
    return kLeft + std::clamp(share, 0.0, 1.0) * (kWidth - kLeft - kRight);
  }
  double y(double value) const { return height - kBottom - value / most * (height - kTop - kBottom); }
};

// The least of 1, 2 or 5 times a power of ten that is not below `value`.
double round_up(double value) {
  if (value <= 0) return 1;
  const double power = std::pow(10, std::floor(std::log10(value)));
  for (const double step : {1.0, 2.0, 5.0}) {
    if (step * power >= value) return step * power;
  }
  return 10 * power;
}

void begin(std::string& out, const Frame& frame, std::string_view title, std::string_view top,
           std::string_view half) {
  out += fmt::format("<svg viewBox=\"0 0 {} {}\" role=img><title>{}</title>\n", kWidth, frame.height, title);
  for (const auto& [value, label] :
       {std::pair(frame.most, top), std::pair(frame.most / 2, half), std::pair(0.0, std::string_view("0"))}) {
    out += fmt::format(
        "<line x1={0} x2={1} y1={2:.1f} y2={2:.1f} stroke=\"var(--line)\"/><text x={3} y={4:.1f} "
        "text-anchor=end>{5}</text>\n",
        kLeft, kWidth - kRight, frame.y(value), kLeft - 6, frame.y(value) + 4, label);
  }
  const int64_t window_ms = frame.end_ms - frame.begin_ms;
  const auto label = [&](int64_t ms) {
    return ms >= 3 * kMinuteMs ? fmt::format("−{} min", ms / kMinuteMs) : fmt::format("−{} s", ms / 1000);
  };
  for (const auto& [at_ms, anchor, text] :
       {std::tuple(frame.begin_ms, "start", label(window_ms)),
        std::tuple(frame.begin_ms + window_ms / 2, "middle", label(window_ms / 2)),
        std::tuple(frame.end_ms, "end", std::string("now"))}) {
    out += fmt::format("<text x={:.1f} y={:.1f} text-anchor={}>{}</text>\n", frame.x(at_ms), frame.height - 5,
                       anchor, text);
  }
}

std::string short_number(double value) {
  if (value >= 1e6) return fmt::format("{:g} M", value / 1e6);
  if (value >= 1e3) return fmt::format("{:g} k", value / 1e3);
  return fmt::format("{:g}", value);
}

constexpr size_t kBands = 4;
constexpr std::array<std::string_view, kBands> kColours{"--unique", "--near", "--exact", "--other"};

// Documents per second between two samples, by band of the chart.
std::array<double, kBands> rates(const Sample& a, const Sample& b) {
  const double seconds = std::max(1e-3, static_cast<double>(b.at_ms - a.at_ms) / 1e3);
  const auto rate = [&](uint64_t before, uint64_t after) {
    return static_cast<double>(after - before) / seconds;
  };
  return {rate(a.unique, b.unique), rate(a.near + a.partial, b.near + b.partial), rate(a.exact, b.exact),
          rate(a.rejected + a.skipped + a.unscored, b.rejected + b.skipped + b.unscored)};
}

}  // namespace

void append_rate_chart(std::string& out, const std::vector<Sample>& samples) {
  if (samples.empty()) return;
  Frame frame(samples, 180, 0);
  std::vector<std::array<double, kBands>> steps;
  for (size_t i = 1; i < samples.size(); ++i) {
    steps.push_back(rates(samples[i - 1], samples[i]));
    double sum = 0;
    for (const double rate : steps.back()) sum += rate;
    frame.most = std::max(frame.most, sum);
  }
  frame.most = round_up(frame.most);
  begin(out, frame, "Documents per second in the last hour, by verdict", short_number(frame.most) + "/s",
        short_number(frame.most / 2));
  std::vector<double> floor(steps.size(), 0);
  for (size_t band = 0; band < kBands && !steps.empty(); ++band) {
    std::string above, below;
    for (size_t i = 0; i < steps.size(); ++i) {
      const double low = floor[i], high = floor[i] += steps[i][band];
      const double from = frame.x(samples[i].at_ms), to = frame.x(samples[i + 1].at_ms);
      above += fmt::format("{0:.1f},{1:.1f} {2:.1f},{1:.1f} ", from, frame.y(high), to);
      below.insert(0, fmt::format("{2:.1f},{1:.1f} {0:.1f},{1:.1f} ", from, frame.y(low), to));
    }
    out += fmt::format("<polygon fill=\"var({})\" points=\"{}{}\"/>\n", kColours[band], above, below);
  }
  out += "</svg>\n";
}

void append_ratio_chart(std::string& out, const std::vector<Sample>& samples) {
  if (samples.empty()) return;
  const Frame frame(samples, 180, 1);
  begin(out, frame, "Dedup ratio in the last hour", "100 %", "50 %");
  std::string line;
  const auto flush = [&] {
    if (!line.empty())
      out += fmt::format("<polyline fill=none stroke=\"var(--near)\" stroke-width=2 points=\"{}\"/>\n", line);
    line.clear();
  };
  for (size_t i = 1; i < samples.size(); ++i) {
    const Sample &a = samples[i - 1], &b = samples[i];
    const uint64_t copies = b.copies() - a.copies(), all = copies + b.unique - a.unique;
    if (all == 0) {
      flush();
      continue;
    }
    const double y = frame.y(static_cast<double>(copies) / static_cast<double>(all));
    line += fmt::format("{0:.1f},{1:.1f} {2:.1f},{1:.1f} ", frame.x(a.at_ms), y, frame.x(b.at_ms));
  }
  flush();
  out += "</svg>\n";
}

}  // namespace doppel

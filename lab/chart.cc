// Plots as SVG: axes with units, a legend, and the command line that made them. Each file is self-contained
// and readable on light and dark backgrounds.
#include <algorithm>
#include <array>
#include <cmath>

#include "fmt/format.h"
#include "insight/show.h"
#include "lab/report.h"

namespace doppel::lab {
namespace {

constexpr double kWidth = 760, kLeft = 84, kRight = 736;
constexpr double kPlotHeight = 300;
constexpr double kLetter = 7.8, kSmallLetter = 6.6;  // widths in a wide font
constexpr double kMarkRow = 14;
constexpr size_t kColours = 8;
constexpr std::array<const char*, kColours> kLight{"#0969da", "#bc4c00", "#1a7f37", "#8250df",
                                                   "#bf3989", "#6e7781", "#9a6700", "#0a7ea4"};
constexpr std::array<const char*, kColours> kDark{"#58a6ff", "#f0883e", "#3fb950", "#bc8cff",
                                                  "#f778ba", "#9198a1", "#d29922", "#56d4dd"};

std::string colours(const std::array<const char*, kColours>& palette, const char* ground, const char* ink,
                    const char* quiet, const char* line) {
  std::string out = fmt::format(
      " .lab text{{fill:{1}}} .lab .q{{fill:{2}}} .lab .ground{{fill:{0}}} .lab .grid{{stroke:{3}}}"
      " .lab .axis{{stroke:{2}}}\n",
      ground, ink, quiet, line);
  for (size_t i = 0; i < kColours; ++i) {
    out += fmt::format(" .lab .s{0}{{stroke:{1}}} .lab .f{0}{{fill:{1}}}\n", i, palette[i]);
  }
  return out;
}

std::string style() {
  return "<style>\n .lab text{font:13px system-ui,\"Segoe UI\",\"Helvetica Neue\",Arial,sans-serif}"
         " .lab .title{font-size:17px;font-weight:600} .lab .small{font-size:11px}\n"
         " .lab polyline{fill:none;stroke-width:2;stroke-linejoin:round} .lab .dash{stroke-dasharray:6 4}"
         " .lab .mark{stroke-dasharray:3 4}\n" +
         colours(kLight, "#ffffff", "#1f2328", "#59636e", "#d1d9e0") +
         " @media (prefers-color-scheme: dark) {\n" +
         colours(kDark, "#0d1117", "#e6edf3", "#9198a1", "#30363d") + " }\n</style>\n";
}

// Maps values to positions along an axis, and chooses the ticks.
class Axis {
 public:
  Axis(double low, double high, bool log, double from, double to) : log_(log), from_(from), to_(to) {
    if (log_) {
      low_ = std::log10(low);
      high_ = std::log10(high);
      // Both ends are 1, 2 or 5 times a power of ten.
      auto snapped = [](double v, bool up) {
        const double power = std::floor(v + (up ? -1e-9 : 1e-9));
        constexpr std::array<double, 4> kNice{0, 0.30103, 0.69897, 1};
        if (up)
          return power +
                 *std::find_if(kNice.begin(), kNice.end(), [&](double n) { return power + n >= v - 1e-6; });
        return power +
               *std::find_if(kNice.rbegin(), kNice.rend(), [&](double n) { return power + n <= v + 1e-6; });
      };
      low_ = snapped(low_, false);
      high_ = snapped(high_, true);
      if (high_ - low_ < 0.1) high_ = low_ + 1;
      if (high_ - low_ < 2) {
        log_ticks(std::array{1.0, 2.0, 5.0});
      } else {
        log_ticks(std::array{1.0});
      }
      return;
    }
    if (high - low < 1e-12) high = low + (low == 0 ? 1 : std::abs(low) * .1);
    const double raw = (high - low) / 6;
    const double power = std::pow(10, std::floor(std::log10(raw)));
    double step = power;
    for (double nice : {1.0, 2.0, 2.5, 5.0, 10.0}) {
      step = nice * power;
      if (step >= raw) break;
    }
    low_ = std::floor(low / step + 1e-9) * step;
    high_ = std::ceil(high / step - 1e-9) * step;
    const int steps = static_cast<int>(std::lround((high_ - low_) / step));
    for (int i = 0; i <= steps; ++i) ticks_.push_back(low_ + i * step);
  }

  double operator()(double v) const {
    const double value = log_ ? std::log10(v) : v;
    return from_ + (value - low_) / (high_ - low_) * (to_ - from_);
  }
  bool drawable(double v) const { return !log_ || v > 0; }
  double bottom() const { return log_ ? std::pow(10, low_) : std::max(0.0, low_); }
  const std::vector<double>& ticks() const { return ticks_; }

 private:
  template <size_t n>
  void log_ticks(const std::array<double, n>& steps) {
    for (int p = static_cast<int>(std::floor(low_)); p <= static_cast<int>(std::ceil(high_)); ++p) {
      for (double step : steps) {
        const double tick = std::log10(step) + p;
        if (tick > low_ - 1e-9 && tick < high_ + 1e-9) ticks_.push_back(std::pow(10, tick));
      }
    }
  }

  double low_ = 0, high_ = 1;
  bool log_;
  double from_, to_;
  std::vector<double> ticks_;
};

std::string tick_label(double v) {
  const double size = std::abs(v);
  if (size > 0 && size < 1e-3) return fmt::format("{:.0e}", v);
  if (size >= 1e6) return fmt::format("{:g} M", v / 1e6);
  if (size >= 1e4) return fmt::format("{:g} k", v / 1e3);
  return fmt::format("{:g}", std::round(v * 1e6) / 1e6);
}

struct Range {
  double low = INFINITY, high = -INFINITY;
  void take(double v) {
    low = std::min(low, v);
    high = std::max(high, v);
  }
};

class Picture {
 public:
  Picture(const Plot& plot, std::string_view command) : plot_(plot), command_(command) {}

  std::string draw() {
    legend_columns_ = columns();
    const size_t legend_rows = (plot_.series.size() + legend_columns_ - 1) / legend_columns_;
    const double legend_bottom = 38 + 20.0 * static_cast<double>(legend_rows);
    const std::vector<size_t> rows = mark_rows();
    const size_t above = rows.empty() ? 0 : *std::max_element(rows.begin(), rows.end());
    top_ = legend_bottom + 34 + kMarkRow * static_cast<double>(above);
    bottom_ = top_ + kPlotHeight;
    const double height = bottom_ + 78;
    const auto [x, y] = axes();
    out_.line(
        R"(<svg class="lab" xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {0} {1}" width="{0}" height="{1}" role="img">)",
        kWidth, height);
    out_.line("<title>{}</title>", html_escape(plot_.title));
    out_.raw(style());
    out_.line(R"(<rect class="ground" width="{}" height="{}"/>)", kWidth, height);
    label("title", 20, 32, "start", plot_.title);
    legend();
    grid(x, y);
    for (size_t i = 0; i < plot_.series.size(); ++i) series(i, x, y);
    for (size_t i = 0; i < plot_.marks.size(); ++i) {
      const double at = x(plot_.marks[i].x), label_y = top_ - 10 - kMarkRow * static_cast<double>(rows[i]);
      out_.line(R"(<line class="axis mark" x1="{0:.1f}" y1="{1:.1f}" x2="{0:.1f}" y2="{2:.1f}"/>)", at, top_,
                bottom_);
      label("q small", mark_label_x(plot_.marks[i], at), label_y, "middle", plot_.marks[i].label);
    }
    label("", (kLeft + kRight) / 2, bottom_ + 40, "middle", plot_.x_label);
    const double middle = (top_ + bottom_) / 2;
    out_.line(
        R"x(<text x="20" y="{0:.1f}" text-anchor="middle" transform="rotate(-90 20 {0:.1f})">{1}</text>)x",
        middle, html_escape(plot_.y_label));
    label("q small", 20, bottom_ + 66, "start", "$ " + one_line(command_, 105));
    out_.raw("</svg>\n");
    return out_.take();
  }

 private:
  std::pair<Axis, Axis> axes() const {
    Range xs;
    Range ys;
    bool bars = false;
    for (const Series& series : plot_.series) {
      bars = bars || series.look == Series::Look::bars;
      for (auto [x, y] : series.points) {
        if (!plot_.log_x || x > 0) xs.take(x);
        if (!plot_.log_y || y > 0) ys.take(y);
      }
    }
    for (const Mark& mark : plot_.marks) xs.take(mark.x);
    if (plot_.y_from) ys.take(*plot_.y_from);
    if (plot_.y_to) ys.take(*plot_.y_to);
    // An axis that nearly reaches 0 begins there, so that lengths can be compared.
    if (!plot_.log_y && ys.low > 0 && (bars || ys.low < ys.high * .6)) ys.low = 0;
    if (!std::isfinite(xs.low)) xs = {plot_.log_x ? 1.0 : 0.0, 10.0};
    if (!std::isfinite(ys.low)) ys = {plot_.log_y ? 1.0 : 0.0, 10.0};
    return {Axis(xs.low, xs.high, plot_.log_x, kLeft, kRight),
            Axis(ys.low, ys.high, plot_.log_y, bottom_, top_)};
  }

  void label(const char* sort, double x, double y, const char* anchor, std::string_view text) {
    out_.line(R"(<text class="{}" x="{:.1f}" y="{:.1f}" text-anchor="{}">{}</text>)", sort, x, y, anchor,
              html_escape(text));
  }

  // As many columns as fit with the longest name.
  size_t columns() const {
    size_t longest = 0;
    for (const Series& s : plot_.series) longest = std::max(longest, s.name.size());
    const double width = 26 + kLetter * static_cast<double>(longest) + 10;
    return static_cast<size_t>(std::clamp((kWidth - 20) / width, 1.0, 3.0));
  }

  // Keeps the label inside the picture.
  static double mark_label_x(const Mark& mark, double at) {
    const double half = kSmallLetter * static_cast<double>(mark.label.size()) / 2;
    return std::clamp(at, kLeft + half, std::max(kLeft + half, kWidth - 4 - half));
  }

  // The labels of marks are above the plot, where no curve is. Labels that would overlap go into several
  // rows.
  std::vector<size_t> mark_rows() {
    const auto [x, y] = axes();
    std::vector<size_t> rows;
    std::vector<std::pair<double, double>> taken;
    for (const Mark& mark : plot_.marks) {
      const double middle = mark_label_x(mark, x(mark.x));
      const double half = kSmallLetter * static_cast<double>(mark.label.size()) / 2 + 3;
      size_t row = 0;
      for (bool again = true; again;) {
        again = false;
        for (size_t i = 0; i < rows.size(); ++i) {
          if (rows[i] != row || middle - half > taken[i].second || taken[i].first > middle + half) continue;
          ++row;
          again = true;
        }
      }
      rows.push_back(row);
      taken.emplace_back(middle - half, middle + half);
    }
    return rows;
  }

  void legend() {
    for (size_t i = 0; i < plot_.series.size(); ++i) {
      const double width = (kWidth - 34) / static_cast<double>(legend_columns_);
      const double x = 20 + static_cast<double>(i % legend_columns_) * width;
      const size_t row = i / legend_columns_;
      const double y = 58 + static_cast<double>(row) * 20.0;
      const Series& s = plot_.series[i];
      if (s.look == Series::Look::dots || s.look == Series::Look::bars) {
        out_.line(R"(<circle class="f{}" cx="{:.1f}" cy="{:.1f}" r="4"/>)", i % kColours, x + 10, y - 4);
      } else {
        out_.line(R"(<polyline class="s{}{}" points="{:.1f},{:.1f} {:.1f},{:.1f}"/>)", i % kColours,
                  s.look == Series::Look::dashed ? " dash" : "", x, y - 4, x + 20, y - 4);
      }
      label("", x + 26, y, "start", s.name);
    }
  }

  void grid(const Axis& x, const Axis& y) {
    for (double tick : x.ticks()) {
      out_.line(R"(<line class="grid" x1="{0:.1f}" y1="{1:.1f}" x2="{0:.1f}" y2="{2:.1f}"/>)", x(tick), top_,
                bottom_);
      label("q", x(tick), bottom_ + 18, "middle", tick_label(tick));
    }
    for (double tick : y.ticks()) {
      out_.line(R"(<line class="grid" x1="{1:.1f}" y1="{0:.1f}" x2="{2:.1f}" y2="{0:.1f}"/>)", y(tick), kLeft,
                kRight);
      label("q", kLeft - 8, y(tick) + 4.5, "end", tick_label(tick));
    }
    out_.line(R"(<line class="axis" x1="{0}" y1="{1:.1f}" x2="{2}" y2="{1:.1f}"/>)", kLeft, bottom_, kRight);
    out_.line(R"(<line class="axis" x1="{0}" y1="{1:.1f}" x2="{0}" y2="{2:.1f}"/>)", kLeft, top_, bottom_);
  }

  void series(size_t i, const Axis& x, const Axis& y) {
    const Series& s = plot_.series[i];
    std::string points;
    for (auto [px, py] : s.points) {
      if (!x.drawable(px) || !y.drawable(py)) continue;
      if (s.look == Series::Look::dots) {
        out_.line(R"(<circle class="f{}" cx="{:.1f}" cy="{:.1f}" r="3"/>)", i % kColours, x(px), y(py));
      } else if (s.look == Series::Look::bars) {
        out_.line(R"(<rect class="f{}" x="{:.1f}" y="{:.1f}" width="6" height="{:.1f}"/>)", i % kColours,
                  x(px) - 3, y(py), std::max(0.0, y(y.bottom()) - y(py)));
      } else {
        points += fmt::format("{:.1f},{:.1f} ", x(px), y(py));
      }
    }
    if (points.empty()) return;
    out_.line(R"(<polyline class="s{}{}" points="{}"/>)", i % kColours,
              s.look == Series::Look::dashed ? " dash" : "", points);
    if (s.points.size() > 40) return;
    for (auto [px, py] : s.points) {
      if (!x.drawable(px) || !y.drawable(py)) continue;
      out_.line(R"(<circle class="f{}" cx="{:.1f}" cy="{:.1f}" r="2.5"/>)", i % kColours, x(px), y(py));
    }
  }

  const Plot& plot_;
  std::string_view command_;
  double top_ = 0, bottom_ = 0;
  size_t legend_columns_ = 3;
  Lines out_;
};

}  // namespace

std::string svg(const Plot& plot, std::string_view command) { return Picture(plot, command).draw(); }

}  // namespace doppel::lab

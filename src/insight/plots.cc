#include "insight/plots.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "fmt/format.h"
#include "insight/show.h"

namespace doppel {
namespace {

constexpr double kWidth = 760, kLeft = 76, kRight = 736;
constexpr double kCurveTop = 84, kCurveBottom = 364;
constexpr double kPairsTop = 474, kPairsBottom = 634;
constexpr double kRuleLabels = 280;  // the widest label next to the curve

struct Theme {
  const char *ground, *ink, *quiet, *line, *curve, *mark, *good;
};
constexpr Theme kLight{"#ffffff", "#1f2328", "#59636e", "#d1d9e0", "#0969da", "#bc4c00", "#1a7f37"};
constexpr Theme kDark{"#0d1117", "#e6edf3", "#9198a1", "#30363d", "#58a6ff", "#f0883e", "#3fb950"};

// Uses plain rules, because few programs other than browsers understand CSS variables.
std::string colours(const Theme& t) {
  return fmt::format(R"(  text {{ fill: {ink}; }} .quiet {{ fill: {quiet}; }} .ground {{ fill: {ground}; }}
  .mark, .waste {{ fill: {mark}; }} .good {{ fill: {good}; }} .bar {{ fill: {curve}; }}
  .dot {{ fill: {curve}; stroke: {ground}; }} .halo {{ stroke: {ground}; }}
  .grid {{ stroke: {line}; }} .axis {{ stroke: {quiet}; }} .curve {{ stroke: {curve}; }}
  .threshold {{ stroke: {mark}; }} .suggested {{ stroke: {good}; }}
)",
                     fmt::arg("ink", t.ink), fmt::arg("quiet", t.quiet), fmt::arg("ground", t.ground),
                     fmt::arg("line", t.line), fmt::arg("curve", t.curve), fmt::arg("mark", t.mark),
                     fmt::arg("good", t.good));
}

std::string style() {
  return R"(<style>
  text { font: 13px system-ui, "Segoe UI", "Helvetica Neue", Arial, sans-serif; }
  .title { font-size: 17px; font-weight: 600; }
  .halo { paint-order: stroke; stroke-width: 5px; stroke-linejoin: round; }
  .curve { fill: none; stroke-width: 2.5; stroke-linejoin: round; }
  .waste { opacity: .16; }
  .bar { opacity: .75; }
  .threshold { stroke-width: 1.5; stroke-dasharray: 6 4; }
  .suggested { stroke-width: 2; stroke-dasharray: 2 4; }
  .dot { stroke-width: 2; }
)" + colours(kLight) +
         "  @media (prefers-color-scheme: dark) {\n" + colours(kDark) + "  }\n</style>\n";
}

double x_of(double similarity) { return kLeft + similarity * (kRight - kLeft); }
double y_of(double chance) { return kCurveBottom - chance * (kCurveBottom - kCurveTop); }

// Lines of SVG, with the two shapes that the picture consists of.
class Svg : public Lines {
 public:
  void stroke(const char* sort, double x1, double y1, double x2, double y2) {
    line(R"(<line class="{}" x1="{:.1f}" y1="{:.1f}" x2="{:.1f}" y2="{:.1f}"/>)", sort, x1, y1, x2, y2);
  }
  // anchor: start, middle, end
  void label(const char* sort, double x, double y, const char* anchor, std::string_view text) {
    line(R"(<text class="{}" x="{:.1f}" y="{:.1f}" text-anchor="{}">{}</text>)", sort, x, y, anchor,
         html_escape(text));
  }
};

void similarity_axis(Svg& svg, double top, double bottom, const char* title) {
  for (int tenth = 0; tenth <= 10; ++tenth) {
    svg.stroke(tenth == 0 ? "axis" : "grid", x_of(tenth / 10.0), top, x_of(tenth / 10.0), bottom);
    svg.label("quiet", x_of(tenth / 10.0), bottom + 18, "middle", fmt::format("{:.1f}", tenth / 10.0));
  }
  svg.stroke("axis", kLeft, bottom, kRight, bottom);
  svg.label("", (kLeft + kRight) / 2, bottom + 38, "middle", title);
}

void draw_chances(Svg& svg, const RulePicture& p) {
  for (int fifth = 0; fifth <= 5; ++fifth) {
    const double y = y_of(fifth / 5.0);
    if (fifth > 0) svg.stroke("grid", kLeft, y, kRight, y);
    svg.label("quiet", kLeft - 10, y + 4.5, "end", fmt::format("{} %", fifth * 20));
  }
  similarity_axis(svg, kCurveTop, kCurveBottom, "similarity of two documents (Jaccard)");
  svg.line(
      R"x(<text x="20" y="{0:.1f}" text-anchor="middle" transform="rotate(-90 20 {0:.1f})">chance to meet</text>)x",
      (kCurveTop + kCurveBottom) / 2);

  std::string points;
  std::string below;
  constexpr int kSteps = 330;
  for (int i = 0; i <= kSteps; ++i) {
    const double s = static_cast<double>(i) / kSteps;
    const std::string point = fmt::format("{:.1f},{:.1f} ", x_of(s), y_of(meeting_probability(s, p.banding)));
    points += point;
    if (s < p.threshold) below += point;
  }
  below += fmt::format("{:.1f},{:.1f} {:.1f},{:.1f}", x_of(p.threshold),
                       y_of(meeting_probability(p.threshold, p.banding)), x_of(p.threshold), kCurveBottom);
  svg.line(R"(<polygon class="waste" points="{:.1f},{:.1f} {}"/>)", kLeft, kCurveBottom, below);
  svg.stroke("threshold", x_of(p.threshold), kCurveTop, x_of(p.threshold), kCurveBottom);
  svg.line(R"(<polyline class="curve" points="{}"/>)", points);

  const double steepest = steepest_similarity(p.banding);
  const double at_steepest = meeting_probability(steepest, p.banding);
  const double at_threshold = meeting_probability(p.threshold, p.banding);
  auto dot = [&](double s, double chance) {
    svg.line(R"(<circle class="dot" cx="{:.1f}" cy="{:.1f}" r="5"/>)", x_of(s), y_of(chance));
  };
  dot(steepest, at_steepest);
  dot(p.threshold, at_threshold);
  // The upper left is free of the curve, and of the threshold's line if there is room. If the curve rises
  // early, the lower right is free.
  double label_x = x_of(std::min(steepest, p.threshold)) - 14;
  if (label_x < kLeft + kRuleLabels) label_x = x_of(steepest) - 14;
  const bool room = label_x >= kLeft + kRuleLabels;
  const char* anchor = room ? "end" : "start";
  const double left = room ? label_x : kRight - kRuleLabels;
  const double first = room ? kCurveTop + 24 : kCurveBottom - 70;
  svg.label("halo mark", left, first, anchor,
            fmt::format("threshold {:.2f}: {} meet", p.threshold, as_chance(at_threshold)));
  svg.label("halo", left, first + 22, anchor,
            fmt::format("steepest at {:.2f} ({})", steepest, as_chance(at_steepest)));
  svg.label("halo quiet", left, first + 44, anchor, "shaded: meet, but are not duplicates");
}

// 1, 10, 100, 1 k, 10 k, 100 k, 1 M ...
std::string power_of_ten(int power) {
  static constexpr const char* kUnits[] = {"", " k", " M", " G", " T"};
  return std::string(1, '1') + std::string(power % 3, '0') + kUnits[std::min(power / 3, 4)];
}

void draw_pairs(Svg& svg, const RulePicture& p) {
  const uint64_t most = std::max<uint64_t>(1, *std::max_element(p.pairs.begin(), p.pairs.end()));
  const double top_power = std::max(1.0, std::ceil(std::log10(static_cast<double>(most))));
  // The axis starts at half a pair, so that one pair is visible.
  const double low = std::log10(0.5);
  auto y = [&](double count) {
    return kPairsBottom - (std::log10(count) - low) / (top_power - low) * (kPairsBottom - kPairsTop);
  };
  svg.label("quiet", kLeft, kPairsTop - 36, "start", "pairs of " + p.sample + ", by similarity");
  for (int power = 0; power <= static_cast<int>(top_power); ++power) {
    if (top_power > 6 && power % 2 == 1) continue;
    const double count = std::pow(10, power);
    svg.stroke("grid", kLeft, y(count), kRight, y(count));
    svg.label("quiet", kLeft - 10, y(count) + 4.5, "end", power_of_ten(power));
  }
  similarity_axis(svg, kPairsTop, kPairsBottom, "similarity of two documents (Jaccard)");
  const double step = 1.0 / static_cast<double>(p.pairs.size());
  for (size_t i = 0; i < p.pairs.size(); ++i) {
    if (p.pairs[i] == 0) continue;
    const double top = y(static_cast<double>(p.pairs[i]));
    svg.line(
        R"(<rect class="bar" x="{:.2f}" y="{:.1f}" width="{:.2f}" height="{:.1f}"><title>{}</title></rect>)",
        x_of(i * step) + 0.5, top, step * (kRight - kLeft) - 1, kPairsBottom - top,
        fmt::format("{:.2f} to {:.2f}: {} pairs", i * step, (i + 1) * step, with_commas(p.pairs[i])));
  }
  svg.stroke("threshold", x_of(p.threshold), kPairsTop, x_of(p.threshold), kPairsBottom);
  if (p.suggested > 0) {
    svg.stroke("suggested", x_of(p.suggested), kPairsTop, x_of(p.suggested), kPairsBottom);
    const double x = std::clamp(x_of(p.suggested), kLeft, kRight - 20);  // so that the label is not cut off
    svg.label("halo good", x, kPairsTop - 14, "middle", fmt::format("fits: {:.2f}", p.suggested));
  }
}

}  // namespace

// The derivative, b r s^(r-1) (1-s^r)^(b-1), is largest where s^r = (r-1)/(rb-1).
double steepest_similarity(Banding banding) {
  const double r = banding.rows;
  const double b = banding.bands;
  if (r * b <= 1) return 0;
  return std::pow((r - 1) / (r * b - 1), 1 / r);
}

std::string draw_rule(const RulePicture& p) {
  const double height = p.pairs.empty() ? 416 : 686;
  Svg svg;
  svg.line(
      R"(<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {0} {1}" width="{0}" height="{1}" role="img">)",
      kWidth, height);
  svg.line("<title>{} bands of {} rows</title>", p.banding.bands, p.banding.rows);
  svg.raw(style());
  svg.line(R"(<rect class="ground" width="{}" height="{}"/>)", kWidth, height);
  svg.label("title", kLeft, 36, "start", "How likely two documents meet, by similarity");
  svg.label("quiet", kLeft, 60, "start",
            fmt::format("{} bands of {} rows, {} of {} slots", p.banding.bands, p.banding.rows,
                        p.banding.bands * p.banding.rows, p.num_perm));
  draw_chances(svg, p);
  if (!p.pairs.empty()) draw_pairs(svg, p);
  svg.raw("</svg>\n");
  return svg.take();
}

namespace {

// A braille character is a grid of 2 x 4 dots; these are their bits, by column and row.
constexpr int kBits[2][4] = {{0x01, 0x02, 0x04, 0x40}, {0x08, 0x10, 0x20, 0x80}};

std::string braille(int bits) {
  const int code = 0x2800 + bits;
  return {static_cast<char>(0xe0 | code >> 12), static_cast<char>(0x80 | (code >> 6 & 0x3f)),
          static_cast<char>(0x80 | (code & 0x3f))};
}

// The dots of the curve in a grid of `columns` x `rows`. Fills gaps between neighbours.
std::vector<std::vector<bool>> trace(const std::function<double(double)>& curve, int columns, int rows) {
  std::vector<std::vector<bool>> dots(rows, std::vector<bool>(columns));
  int last = -1;
  for (int x = 0; x < columns; ++x) {
    const double y = std::clamp(curve((x + 0.5) / columns), 0.0, 1.0);
    const int row = static_cast<int>(std::lround((1 - y) * (rows - 1)));
    const int to = last < 0 || last == row ? row : last < row ? last + 1 : last - 1;
    for (int r = std::min(row, to); r <= std::max(row, to); ++r) dots[r][x] = true;
    last = row;
  }
  return dots;
}

}  // namespace

bool utf8_locale() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const char* value = std::getenv(name);
    if (value == nullptr || *value == '\0') continue;
    std::string text(value);
    for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    return text.find("utf-8") != std::string::npos || text.find("utf8") != std::string::npos;
  }
  return false;
}

bool colour_wanted(int fd) {
  const char* no_colour = std::getenv("NO_COLOR");
  const char* term = std::getenv("TERM");
  return isatty(fd) != 0 && (no_colour == nullptr || *no_colour == '\0') &&
         (term == nullptr || std::string_view(term) != "dumb");
}

std::string draw_curve(const CurvePlot& plot, bool utf8) {
  const int across = utf8 ? 2 : 1;
  const int down = utf8 ? 4 : 1;
  const auto dots = trace(plot.curve, plot.width * across, plot.height * down);
  const int mark = std::clamp(static_cast<int>(plot.mark * plot.width), 0, plot.width - 1);
  std::string out;
  for (int row = 0; row < plot.height; ++row) {
    const bool labelled = row == 0 || row == plot.height / 2 || row == plot.height - 1;
    const char* label = row == 0 ? "100 %" : row == plot.height - 1 ? "0 %" : "50 %";
    out += fmt::format("{:>6} {}", labelled ? label : "", utf8 ? (labelled ? "┤" : "│") : "|");
    std::string line;
    for (int column = 0; column < plot.width; ++column) {
      int bits = 0;
      for (int x = 0; x < across; ++x) {
        for (int y = 0; y < down; ++y) {
          if (dots[row * down + y][column * across + x]) bits |= kBits[x][y];
        }
      }
      if (bits != 0) {
        line += utf8 ? braille(bits) : "*";
      } else if (column == mark) {
        line += utf8 ? "┊" : ":";
      } else {
        line += ' ';
      }
    }
    while (!line.empty() && line.back() == ' ') line.pop_back();
    out += line + '\n';
  }
  // The axis, labels, and the mark below.
  out += fmt::format("{:>6} {}", "", utf8 ? "└" : "+");
  for (int column = 0; column < plot.width; ++column) out += utf8 ? "─" : "-";
  out += '\n';
  std::string labels(plot.width + 12, ' ');
  for (int tenth = 0; tenth <= 10; tenth += 2) {
    const std::string text = fmt::format("{:.1f}", tenth / 10.0);
    const int at = 8 + tenth * plot.width / 10 - 1;
    labels.replace(at, text.size(), text);
  }
  while (labels.back() == ' ') labels.pop_back();
  out += labels + '\n';
  if (!plot.mark_label.empty()) {
    out += fmt::format("{:>{}}{} {}\n", "", 8 + mark, utf8 ? "▲" : "^", plot.mark_label);
  }
  return out;
}

std::string draw_bar(double share, int width, bool utf8) {
  static constexpr std::array<const char*, 8> kEighths{"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  if (!(share > 0)) return {};
  const int steps = utf8 ? 8 : 1;
  int filled = static_cast<int>(std::lround(std::min(share, 1.0) * width * steps));
  filled = std::max(filled, 1);
  std::string out;
  for (int i = 0; i < filled / steps; ++i) out += utf8 ? "█" : "#";
  if (utf8) out += kEighths[filled % steps];
  return out;
}

}  // namespace doppel

#include "insight/terminal.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "fmt/format.h"

namespace doppel {
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

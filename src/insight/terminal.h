#pragma once
// Plots in characters: braille dots where the locale is UTF-8, plain ASCII elsewhere.

#include <functional>
#include <string>

namespace doppel {

// The locale's character set, from LC_ALL, LC_CTYPE, LANG.
bool utf8_locale();

// Whether to colour what goes to this file descriptor: a terminal, and neither NO_COLOR nor TERM=dumb.
bool colour_wanted(int fd);

struct CurvePlot {
  std::function<double(double)> curve;  // 0..1 -> 0..1
  double mark = 0.8;                    // the position of the upright line
  std::string mark_label;
  int width = 60, height = 12;  // characters
};
std::string draw_curve(const CurvePlot& plot, bool utf8);

// A bar of `share` (0..1) of `width` characters; anything above 0 is seen.
std::string draw_bar(double share, int width, bool utf8);

}  // namespace doppel

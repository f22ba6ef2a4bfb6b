#pragma once
// Plots made of characters: braille dots in a UTF-8 locale, otherwise ASCII.

#include <functional>
#include <string>

namespace doppel {

// Whether LC_ALL, LC_CTYPE or LANG (the first one set) names UTF-8.
bool utf8_locale();

// Whether output to this file descriptor may have colours: a terminal, without NO_COLOR and TERM=dumb.
bool colour_wanted(int fd);

struct CurvePlot {
  std::function<double(double)> curve;  // 0..1 -> 0..1
  double mark = 0.8;                    // position of the vertical line
  std::string mark_label;
  int width = 60, height = 12;  // characters
};
std::string draw_curve(const CurvePlot& plot, bool utf8);

// A bar of up to `width` characters for `share` (0..1). Any share above 0 is visible.
std::string draw_bar(double share, int width, bool utf8);

}  // namespace doppel

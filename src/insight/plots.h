#pragma once
// Curves and bars, as SVG for pages and as characters for terminals. RulePicture draws a rule: the S-curve,
// the threshold, and where the curve is steepest; below, on the same axis, how many pairs of a sample have
// which similarity. The SVG is self-contained and readable on light and dark backgrounds.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "index/banding.h"

namespace doppel {

struct RulePicture {
  Banding banding;
  int num_perm = 128;
  double threshold = 0.8;
  std::vector<uint64_t> pairs;  // by similarity, in equal steps from 0 to 1; empty without a sample
  std::string sample;           // "20,000 documents of crawl.jsonl"
  double suggested = 0;         // 0 if there is none
};
std::string draw_rule(const RulePicture& picture);

// Returns where 1-(1-s^r)^b rises fastest.
double steepest_similarity(Banding banding);

// Plots made of characters: braille dots in a UTF-8 locale, otherwise ASCII.

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

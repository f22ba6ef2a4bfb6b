#pragma once
// Finds the labels of a picture: whether two of them overlap, one leaves the picture, or a curve crosses one.
// Assumes letters as wide as a wide font's, so a browser needs less room.

#include <algorithm>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "fmt/format.h"

namespace doppel {

struct LabelBox {
  std::string text;
  double left = 0, top = 0, right = 0, bottom = 0;
};

// Returns an attribute from the head of an element ("<text class=...").
inline std::string svg_attribute(std::string_view head, const std::string& name) {
  const std::string begin = " " + name + "=\"";
  const size_t at = head.find(begin);
  if (at == std::string_view::npos) return {};
  const std::string_view value = head.substr(at + begin.size());
  return std::string(value.substr(0, value.find('"')));
}

// Returns the heads of all elements that begin so, each with the text after it.
inline std::vector<std::pair<std::string, std::string>> svg_elements(const std::string& svg,
                                                                     const std::string& begin) {
  std::vector<std::pair<std::string, std::string>> out;
  for (size_t at = svg.find(begin); at != std::string::npos; at = svg.find(begin, at + 1)) {
    const size_t end = std::min(svg.find('>', at), svg.size());
    const size_t behind = std::min(end + 1, svg.size());
    out.emplace_back(svg.substr(at, end - at), svg.substr(behind, svg.find('<', behind) - behind));
  }
  return out;
}

inline std::vector<LabelBox> label_boxes(const std::string& svg) {
  std::vector<LabelBox> out;
  // Leaves out turned labels, which have no class.
  for (const auto& [head, coded] : svg_elements(svg, "<text class=")) {
    const std::string sort = svg_attribute(head, "class"), anchor = svg_attribute(head, "text-anchor");
    std::string text;
    for (size_t i = 0; i < coded.size(); ++i) {
      text += coded[i] == '&' ? 'x' : coded[i];
      if (coded[i] == '&') i = std::min(coded.find(';', i), coded.size() - 1);
    }
    const double size = sort.find("title") != std::string::npos   ? 17
                        : sort.find("small") != std::string::npos ? 11
                                                                  : 13;
    const auto letters = std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; });
    const double width = static_cast<double>(letters) * size * .6, x = std::stod(svg_attribute(head, "x")),
                 y = std::stod(svg_attribute(head, "y"));
    const double left = anchor == "start" ? x : anchor == "end" ? x - width : x - width / 2;
    out.push_back({text, left, y - .8 * size, left + width, y + .2 * size});
  }
  return out;
}

// Returns the faults of the labels; "" if there are none.
inline std::string label_faults(const std::string& svg) {
  std::string out;
  const auto pictures = svg_elements(svg, "<svg ");
  if (pictures.empty() || svg_attribute(pictures[0].first, "height").empty()) return "no size\n";
  const double width = std::stod(svg_attribute(pictures[0].first, "width")),
               height = std::stod(svg_attribute(pictures[0].first, "height"));
  const std::vector<LabelBox> boxes = label_boxes(svg);
  if (boxes.empty()) return "no labels\n";
  for (size_t i = 0; i < boxes.size(); ++i) {
    const LabelBox& a = boxes[i];
    if (a.left < 0 || a.top < 0 || a.right > width || a.bottom > height)
      out += fmt::format("\"{}\" leaves the picture\n", a.text);
    for (size_t j = 0; j < i; ++j) {
      const LabelBox& b = boxes[j];
      if (a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom)
        out += fmt::format("\"{}\" overlaps \"{}\"\n", a.text, b.text);
    }
  }
  for (const auto& [head, text] : svg_elements(svg, "<polyline class=")) {
    std::istringstream numbers(svg_attribute(head, "points"));
    std::vector<std::pair<double, double>> points;
    double at_x = 0, at_y = 0;
    for (char comma = 0; numbers >> at_x >> comma >> at_y;) points.emplace_back(at_x, at_y);
    for (size_t i = 1; i < points.size(); ++i) {
      constexpr int kSteps = 50;
      for (int step = 0; step <= kSteps; ++step) {
        const double share = static_cast<double>(step) / kSteps;
        const double x = points[i - 1].first + share * (points[i].first - points[i - 1].first);
        const double y = points[i - 1].second + share * (points[i].second - points[i - 1].second);
        for (const LabelBox& box : boxes) {
          const std::string fault = fmt::format("a curve runs through \"{}\"\n", box.text);
          if (x > box.left && x < box.right && y > box.top && y < box.bottom &&
              out.find(fault) == std::string::npos)
            out += fault;
        }
      }
    }
  }
  return out;
}

}  // namespace doppel

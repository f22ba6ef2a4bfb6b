#pragma once
// The results of an experiment: paragraphs, tables and plots in reading order. This file decides how they
// look in a terminal, as CSV, SVG, Markdown or HTML.

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/status.h"

namespace doppel::lab {

// A number with its shown digits, or text. CSV has the full number.
struct Cell {
  std::string text;
  std::optional<double> number;
};
Cell num(double value, int digits);  // 1,234.5
Cell sci(double value, int digits);  // 1.2e-05
Cell count(uint64_t value);          // 1,234
Cell text(std::string_view value);
Cell none();  // not measured or not given; an empty field in CSV

struct Table {
  std::string name;     // of its file, such as "accuracy_table1"
  std::string title;    // such as "Table 1: ..."
  std::string caption;  // runs, scale, seed, and what the columns mean
  std::vector<std::string> columns;
  std::vector<std::vector<Cell>> rows;

  void row(std::vector<Cell> cells) { rows.push_back(std::move(cells)); }
};

struct Series {
  enum class Look { line, dots, dashed, bars };
  std::string name;
  Look look = Look::line;
  std::vector<std::pair<double, double>> points;
};

struct Mark {  // a vertical line
  double x = 0;
  std::string label;
};

struct Plot {
  std::string name, title, caption;
  std::string x_label, y_label;  // with units
  bool log_x = false, log_y = false;
  std::vector<Series> series;
  std::vector<Mark> marks;
  std::optional<double> y_from, y_to;  // otherwise the range of the points
};

struct Paragraph {
  std::string text;
};

using Block = std::variant<Paragraph, Table, Plot>;

struct Report {
  std::string name, title;
  std::string command;
  std::vector<Block> blocks;

  void say(std::string text) { blocks.emplace_back(Paragraph{std::move(text)}); }
  void add(Table table) { blocks.emplace_back(std::move(table)); }
  void add(Plot plot) { blocks.emplace_back(std::move(plot)); }
};

std::string terminal_text(const Report& report);
// Checks that all numbers are finite and all rows complete. Otherwise the experiment has a bug, and the
// error names the table or plot.
absl::Status check_finite(const Report& report);
// The first line names the columns.
std::string csv(const Table& table);
std::string csv(const Plot& plot);  // columns series, x, y
std::string svg(const Plot& plot, std::string_view command);
// `picture_folder` is the path of the plots' files relative to the page.
std::string markdown(const Report& report, std::string_view picture_folder);
// One self-contained page.
std::string html_page(const std::vector<Report>& reports);

}  // namespace doppel::lab

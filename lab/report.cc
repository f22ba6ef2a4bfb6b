// Reports as text: for the terminal, CSV and Markdown.
#include "lab/report.h"

#include <algorithm>
#include <cmath>

#include "base/status.h"
#include "fmt/format.h"
#include "insight/show.h"

namespace doppel::lab {
namespace {

constexpr size_t kWidth = 110;

std::string with_digits(double value, int digits) {
  std::string whole = fmt::format("{:.{}f}", std::abs(value), digits);
  const size_t dot = std::min(whole.find('.'), whole.size());
  for (size_t at = dot; at > 3;) {
    at -= 3;
    whole.insert(at, 1, ',');
  }
  const bool zero = whole.find_first_not_of("0.,") == std::string::npos;
  return value < 0 && !zero ? "-" + whole : whole;
}

size_t shown_width(std::string_view s) {
  return static_cast<size_t>(std::count_if(s.begin(), s.end(), [](char c) { return (c & 0xc0) != 0x80; }));
}

std::string padded(std::string_view s, size_t width, bool right) {
  const std::string pad(width - std::min(width, shown_width(s)), ' ');
  return right ? pad + std::string(s) : std::string(s) + pad;
}

// Breaks lines at kWidth.
std::string folded(std::string_view text, std::string_view indent) {
  std::string out(indent);
  size_t width = indent.size();
  bool first = true;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find(' ', at), text.size());
    const std::string_view word = text.substr(at, end - at);
    if (!first && width + 1 + shown_width(word) > kWidth) {
      out += '\n';
      out += indent;
      width = indent.size();
      first = true;
    }
    if (!first) out += ' ';
    out += word;
    width += shown_width(word) + (first ? 0 : 1);
    first = false;
    at = end + 1;
  }
  return out;
}

// Splits tables that are wider than the terminal into parts, which repeat the first column.
void add_table(Lines& out, const Table& table) {
  std::vector<size_t> widths;
  std::vector<bool> right;
  for (size_t c = 0; c < table.columns.size(); ++c) {
    size_t width = shown_width(table.columns[c]);
    bool numbers = false;
    for (const auto& row : table.rows) {
      width = std::max(width, shown_width(row[c].text));
      numbers = numbers || row[c].number.has_value();
    }
    widths.push_back(width);
    right.push_back(numbers);
  }
  out.line("{}", table.title);
  if (!table.caption.empty()) out.line("{}", folded(table.caption, "  "));
  for (size_t from = 1; from < widths.size() || from == 1;) {
    size_t to = from;
    size_t width = 2 + widths[0];
    while (to < widths.size() && (to == from || width + 2 + widths[to] <= kWidth)) width += 2 + widths[to++];
    auto line = [&](auto cell) {
      std::string text = "  " + padded(cell(0), widths[0], right[0]);
      for (size_t c = from; c < to; ++c) text += "  " + padded(cell(c), widths[c], right[c]);
      text.erase(text.find_last_not_of(' ') + 1);
      out.line("{}", text);
    };
    line([&](size_t c) { return table.columns[c]; });
    line([&](size_t c) { return std::string(widths[c], '-'); });
    for (const auto& row : table.rows) line([&](size_t c) { return row[c].text; });
    out.line("");
    from = std::max(to, from + 1);
  }
}

std::string csv_field(std::string_view s) {
  if (s.find_first_of(",\"\n") == std::string_view::npos) return std::string(s);
  std::string out = "\"";
  for (char c : s) {
    if (c == '"') out += '"';
    out += c;
  }
  return out + '"';
}

std::string escaped_bar(std::string_view s) {
  std::string out;
  for (char c : s) {
    if (c == '|') out += '\\';
    out += c;
  }
  return out;
}

}  // namespace

Cell num(double value, int digits) { return {with_digits(value, digits), value}; }
Cell sci(double value, int digits) { return {fmt::format("{:.{}e}", value, digits), value}; }
Cell count(uint64_t value) { return {with_commas(value), static_cast<double>(value)}; }
Cell text(std::string_view value) { return {std::string(value), std::nullopt}; }
Cell none() { return {}; }

absl::Status check_finite(const Report& report) {
  for (const Block& block : report.blocks) {
    if (const auto* table = std::get_if<Table>(&block)) {
      for (const auto& row : table->rows) {
        if (row.size() != table->columns.size()) {
          return absl::InternalError(fmt::format("{}: a row of {} cells under {} columns", table->name,
                                                 row.size(), table->columns.size()));
        }
        for (const Cell& cell : row) {
          if (cell.number && !std::isfinite(*cell.number)) {
            return absl::InternalError(table->name + ": a number that is not finite");
          }
        }
      }
    } else if (const auto* plot = std::get_if<Plot>(&block)) {
      for (const Series& series : plot->series) {
        for (auto [x, y] : series.points) {
          if (!std::isfinite(x) || !std::isfinite(y)) {
            return absl::InternalError(plot->name + ": a point that is not finite");
          }
        }
      }
    }
  }
  return absl::OkStatus();
}

std::string terminal_text(const Report& report) {
  Lines out;
  out.line("{}", report.title);
  out.line("{}", std::string(shown_width(report.title), '='));
  if (!report.command.empty()) out.line("$ {}\n", report.command);
  for (const Block& block : report.blocks) {
    if (const auto* paragraph = std::get_if<Paragraph>(&block)) {
      out.line("{}\n", folded(paragraph->text, ""));
    } else if (const auto* table = std::get_if<Table>(&block)) {
      add_table(out, *table);
    }
  }
  return out.take();
}

std::string csv(const Table& table) {
  std::string out;
  for (size_t c = 0; c < table.columns.size(); ++c) out += (c > 0 ? "," : "") + csv_field(table.columns[c]);
  out += '\n';
  for (const auto& row : table.rows) {
    for (size_t c = 0; c < row.size(); ++c) {
      if (c > 0) out += ',';
      out += row[c].number ? fmt::format("{}", *row[c].number) : csv_field(row[c].text);
    }
    out += '\n';
  }
  return out;
}

std::string csv(const Plot& plot) {
  std::string out = "series,x,y\n";
  for (const Series& series : plot.series) {
    for (auto [x, y] : series.points) out += fmt::format("{},{},{}\n", csv_field(series.name), x, y);
  }
  return out;
}

std::string markdown(const Report& report, std::string_view picture_folder) {
  Lines out;
  out.line("## {}\n", report.title);
  if (!report.command.empty()) out.line("`{}`\n", report.command);
  for (const Block& block : report.blocks) {
    if (const auto* paragraph = std::get_if<Paragraph>(&block)) {
      out.line("{}\n", paragraph->text);
    } else if (const auto* table = std::get_if<Table>(&block)) {
      out.line("**{}**\n", table->title);
      std::string head = "|";
      std::string rule = "|";
      for (size_t c = 0; c < table->columns.size(); ++c) {
        const bool numbers = std::any_of(table->rows.begin(), table->rows.end(),
                                         [&](const auto& row) { return row[c].number.has_value(); });
        head += fmt::format(" {} |", escaped_bar(table->columns[c]));
        rule += numbers ? "---:|" : "---|";
      }
      out.line("{}\n{}", head, rule);
      for (const auto& row : table->rows) {
        std::string line = "|";
        for (const Cell& cell : row) line += fmt::format(" {} |", escaped_bar(cell.text));
        out.line("{}", line);
      }
      if (!table->caption.empty()) out.line("\n*{}*", table->caption);
      out.line("");
    } else {
      const auto& plot = std::get<Plot>(block);
      out.line("![{}]({}/{}.svg)\n", plot.title, picture_folder, plot.name);
      if (!plot.caption.empty()) out.line("*{}*\n", plot.caption);
    }
  }
  return out.take();
}

}  // namespace doppel::lab

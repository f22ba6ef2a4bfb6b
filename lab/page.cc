// All reports as one self-contained HTML page.
#include <algorithm>

#include "fmt/format.h"
#include "insight/show.h"
#include "lab/report.h"

namespace doppel::lab {
namespace {

constexpr std::string_view kStyle = R"(
:root { color-scheme: light dark; --ground: #ffffff; --panel: #f6f8fa; --ink: #1f2328; --quiet: #59636e; --line: #d1d9e0;
  --link: #0969da; }
@media (prefers-color-scheme: dark) {
  :root { --ground: #0d1117; --panel: #151b23; --ink: #e6edf3; --quiet: #9198a1; --line: #30363d; --link: #58a6ff; }
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--ground); color: var(--ink);
  font: 16px/1.55 system-ui, "Segoe UI", "Helvetica Neue", Arial, sans-serif; }
main { max-width: 1000px; margin: 0 auto; padding: 24px 16px 64px; }
h1 { font-size: 28px; line-height: 1.25; } h2 { font-size: 22px; margin: 56px 0 8px; border-top: 1px solid var(--line);
  padding-top: 20px; }
h3 { font-size: 16px; margin: 28px 0 8px; }
a { color: var(--link); }
p { max-width: 80ch; } .quiet { color: var(--quiet); font-size: 14px; }
code { font-size: 14px; color: var(--quiet); overflow-wrap: anywhere; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-size: 14px; font-variant-numeric: tabular-nums; }
th, td { padding: 4px 10px; border-bottom: 1px solid var(--line); text-align: left; white-space: nowrap; }
th { background: var(--panel); position: sticky; top: 0; } td.n, th.n { text-align: right; }
figure { margin: 24px 0; } figure svg { max-width: 100%; height: auto; border: 1px solid var(--line); border-radius: 8px; }
figcaption { color: var(--quiet); font-size: 14px; max-width: 80ch; }
)";

void add_table(Lines& page, const Table& table) {
  std::vector<bool> numbers;
  numbers.reserve(table.columns.size());
  for (size_t c = 0; c < table.columns.size(); ++c) {
    numbers.push_back(std::any_of(table.rows.begin(), table.rows.end(),
                                  [&](const auto& row) { return row[c].number.has_value(); }));
  }
  page.line("<h3>{}</h3>\n<div class=\"wide\"><table>\n<thead><tr>", html_escape(table.title));
  for (size_t c = 0; c < table.columns.size(); ++c) {
    page.line("<th{}>{}</th>", numbers[c] ? " class=\"n\"" : "", html_escape(table.columns[c]));
  }
  page.line("</tr></thead>\n<tbody>");
  for (const auto& row : table.rows) {
    std::string cells;
    for (size_t c = 0; c < row.size(); ++c) {
      cells += fmt::format("<td{}>{}</td>", numbers[c] ? " class=\"n\"" : "", html_escape(row[c].text));
    }
    page.line("<tr>{}</tr>", cells);
  }
  page.line("</tbody></table></div>");
  if (!table.caption.empty()) page.line("<p class=\"quiet\">{}</p>", html_escape(table.caption));
}

}  // namespace

std::string html_page(const std::vector<Report>& reports) {
  Lines page;
  page.line("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">");
  page.line(R"(<meta name="viewport" content="width=device-width, initial-scale=1">)");
  page.line(
      R"(<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">)");
  page.line("<title>doppel lab</title>\n<style>{}</style>\n</head>\n<body>\n<main>", kStyle);
  page.line("<h1>The published experiments, run here</h1>\n<ul>");
  for (const Report& report : reports) {
    page.line("<li><a href=\"#{}\">{}</a></li>", html_escape(report.name), html_escape(report.title));
  }
  page.line("</ul>");
  for (const Report& report : reports) {
    page.line("<h2 id=\"{}\">{}</h2>\n<p><code>$ {}</code></p>", html_escape(report.name),
              html_escape(report.title), html_escape(report.command));
    for (const Block& block : report.blocks) {
      if (const auto* paragraph = std::get_if<Paragraph>(&block)) {
        page.line("<p>{}</p>", html_escape(paragraph->text));
      } else if (const auto* table = std::get_if<Table>(&block)) {
        add_table(page, *table);
      } else {
        const auto& plot = std::get<Plot>(block);
        page.line("<figure>\n{}<figcaption>{}</figcaption>\n</figure>", svg(plot, report.command),
                  html_escape(plot.caption));
      }
    }
  }
  page.raw("</main>\n</body>\n</html>\n");
  return page.take();
}

}  // namespace doppel::lab

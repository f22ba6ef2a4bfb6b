// doppel report: shows what an archive holds and how much space its copies take, for people who decide what
// to store.
#include <fcntl.h>
#include <CLI/CLI.hpp>
#include <algorithm>
#include <utility>
#include <vector>

#include "base/status.h"
#include "commands/commands.h"
#include "files/byte_stream.h"
#include "files/output_file.h"
#include "files/places.h"
#include "files/read/content.h"
#include "files/read/listing.h"
#include "files/warc/captures.h"
#include "files/warc/record_at.h"
#include "fmt/format.h"
#include "insight/show.h"

namespace doppel {
namespace {

struct ReportFlags {
  std::vector<std::string> paths;
  std::string csv, html;
  size_t top = 10;
};

using Row = std::pair<std::string, Tally>;

// Sorts the rows by bytes in copies, in descending order.
std::vector<Row> sorted(const ArchiveTally::Groups& groups) {
  std::vector<Row> out(groups.begin(), groups.end());
  std::stable_sort(out.begin(), out.end(), [](const Row& a, const Row& b) {
    return std::pair(a.second.copied_bytes, a.second.bytes) >
           std::pair(b.second.copied_bytes, b.second.bytes);
  });
  return out;
}

std::vector<Row> by_year(const ArchiveTally::Groups& groups) { return {groups.begin(), groups.end()}; }

double percent(const Tally& tally) {
  return tally.bytes == 0
             ? 0
             : 100.0 * static_cast<double>(tally.copied_bytes) / static_cast<double>(tally.bytes);
}

std::string text_table(std::string_view title, const std::vector<Row>& rows, size_t top) {
  std::string out =
      fmt::format("\n{:<40} {:>12} {:>11} {:>12} {:>11} {:>6} {:>12} {:>11} {:>10}\n", title, "captures",
                  "payloads", "copies", "in copies", "%", "stored twice", "saved", "revisits");
  for (size_t i = 0; i < std::min(rows.size(), top); ++i) {
    const Tally& t = rows[i].second;
    out += fmt::format("{:<40} {:>12} {:>11} {:>12} {:>11} {:>6.1f} {:>12} {:>11} {:>10}\n",
                       one_line(rows[i].first, 40), with_commas(t.captures),
                       with_unit(static_cast<double>(t.bytes)), with_commas(t.copies),
                       with_unit(static_cast<double>(t.copied_bytes)), percent(t), with_commas(t.again),
                       with_unit(static_cast<double>(t.saved)), with_commas(t.revisits));
  }
  if (rows.size() > top) out += fmt::format("and {} more\n", with_commas(rows.size() - top));
  return out;
}

std::string csv_cell(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) out.append(c == '"' ? 2 : 1, c);
  return out + "\"";
}

std::string csv_rows(std::string_view group, const std::vector<Row>& rows) {
  std::string out;
  for (const auto& [name, t] : rows) {
    out += fmt::format("{},{},{},{},{},{},{},{},{},{}\r\n", group, csv_cell(name), t.captures, t.bytes,
                       t.copies, t.copied_bytes, t.revisits, t.again, t.again_bytes, t.saved);
  }
  return out;
}

std::string html_table(std::string_view title, const std::vector<Row>& rows, size_t top) {
  std::string out = fmt::format(
      "<h2>{}</h2>\n<table>\n<tr><th></th><th>captures</th><th>payloads</th><th>copies</th><th>in "
      "copies</th><th>%</th><th>stored twice</th><th>saved</th><th>revisits</th></tr>\n",
      title);
  for (size_t i = 0; i < std::min(rows.size(), top); ++i) {
    const Tally& t = rows[i].second;
    out += fmt::format(
        "<tr><th>{}</th><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td><meter max=\"100\" "
        "value=\"{:.1f}\"></meter> "
        "{:.1f}</td><td>{}</td><td>{}</td><td>{}</td></tr>\n",
        html_escape(rows[i].first), with_commas(t.captures), with_unit(static_cast<double>(t.bytes)),
        with_commas(t.copies), with_unit(static_cast<double>(t.copied_bytes)), percent(t), percent(t),
        with_commas(t.again), with_unit(static_cast<double>(t.saved)), with_commas(t.revisits));
  }
  out += "</table>\n";
  if (rows.size() > top) out += fmt::format("<p>and {} more</p>\n", with_commas(rows.size() - top));
  return out;
}

// The page may break names of hosts, but never numbers. Tables that are too wide scroll.
constexpr std::string_view kPage =
    "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
    "<meta name=\"viewport\" content=\"width=device-width\"><title>Copies in the archive</title>\n<style>"
    ":root{color-scheme:light dark}body{font:16px/1.5 sans-serif;max-width:64em;margin:2em auto;padding:0 "
    "1em}"
    "table{display:block;overflow-x:auto;border-collapse:collapse}meter{width:4em}"
    "td,th{padding:.2em 0 .2em 1em;border-bottom:1px solid #8886;font-weight:normal;text-align:right;"
    "white-space:nowrap}"
    "th:first-child{padding-left:0;min-width:9em;text-align:left;white-space:normal;overflow-wrap:anywhere}"
    "</style></head><body>\n<h1>Copies in the archive</h1>\n";

absl::Status write_file(const std::string& path, std::string_view bytes) {
  ASSIGN_OR_RETURN(const std::unique_ptr<WholeOutput> out, WholeOutput::open(path));
  RETURN_IF_ERROR(out->append(bytes));
  return out->finish();
}

// Returns how many files it has read. Prints problems with them on stderr.
absl::StatusOr<uint64_t> read_all(const ReportFlags& flags, ArchiveTally& tally, bool& damaged) {
  const NamedPath outputs[] = {{"--csv", flags.csv}, {"--html", flags.html}};
  ASSIGN_OR_RETURN(Listing listing,
                   list_files({.paths = flags.paths, .outputs = {std::begin(outputs), std::end(outputs)}}));
  std::vector<std::string> problems;
  problems.reserve(listing.problems.size());
  for (const Problem& problem : listing.problems) problems.push_back(problem.message);
  uint64_t files = 0;
  for (InputFile& file : listing.files) {
    if (file.pipe) return invalid(fmt::format("{}: only files and directories", file.path));
    const Fd fd(::open(file.path.c_str(), O_RDONLY | O_CLOEXEC));
    if (fd.ok()) look_inside(fd.get(), {}, file);
    if (fd.ok() && !file.archive()) continue;
    ++files;
    tally.begin(file);
    RETURN_IF_ERROR(each_warc_record(file, [&](const Record& record) { tally.add(record); }, problems));
    tally.end();
  }
  for (const std::string& problem : problems) print_err("doppel report: {}\n", one_line(problem, 1000));
  damaged = !problems.empty();
  if (files == 0) return absl::NotFoundError("there are no WARC files in these files and directories");
  return files;
}

absl::StatusOr<int> report(const ReportFlags& flags) {
  ArchiveTally tally;
  bool damaged = false;
  ASSIGN_OR_RETURN(const uint64_t files, read_all(flags, tally, damaged));
  const Tally& all = tally.all();
  const std::string summary = fmt::format(
      "{} WARC files: {} captures with {} of payloads; {} are copies by payload, with {} ({:.1f} %); {} are "
      "stored twice; {} revisit records\nThe files take {}; revisits --rewrite would save about {} of it "
      "({:.1f} %)",
      with_commas(files), with_commas(all.captures), with_unit(static_cast<double>(all.bytes)),
      with_commas(all.copies), with_unit(static_cast<double>(all.copied_bytes)), percent(all),
      with_commas(all.again), with_commas(all.revisits), with_unit(static_cast<double>(tally.stored_bytes())),
      with_unit(static_cast<double>(all.saved)),
      tally.stored_bytes() == 0
          ? 0
          : 100.0 * static_cast<double>(all.saved) / static_cast<double>(tally.stored_bytes()));
  const std::pair<std::string_view, std::vector<Row>> tables[] = {
      {"host", sorted(tally.hosts())}, {"type", sorted(tally.types())}, {"year", by_year(tally.years())}};
  std::string text = summary + "\n", page = std::string(kPage) + "<p>" + html_escape(summary) + "</p>\n";
  std::string csv =
      "group,name,captures,payload_bytes,copies,copied_bytes,revisits,stored_twice,stored_twice_bytes,saved_"
      "bytes\r\n";
  for (const auto& [name, rows] : tables) {
    text += text_table(name, rows, flags.top);
    page += html_table(fmt::format("By {}", name), rows, 100);
    csv += csv_rows(name, rows);
  }
  if (!flags.csv.empty()) RETURN_IF_ERROR(write_file(flags.csv, csv));
  if (!flags.html.empty()) RETURN_IF_ERROR(write_file(flags.html, page + "</body></html>\n"));
  if (flags.csv != "-" && flags.html != "-") RETURN_IF_ERROR(write_file("-", text));
  return damaged ? kExitSomeFailed : kExitDone;
}

}  // namespace

int report_main(int argc, char** argv) {
  CLI::App app(
      "Shows what the WARC files of an archive hold, and what copies take in them: captures, bytes of "
      "payloads, and\n"
      "copies with the same payload, by host, type and year. Captures that are stored twice (same URI, "
      "second and\n"
      "payload) are no copies: rewriting keeps them. \"saved\" is what revisits --rewrite would save, "
      "about,\n"
      "if scan judged responses of every status (--set input.statuses=any); its default is 200 alone.\n\n"
      "Examples:\n"
      "  doppel report warcs/\n"
      "  doppel report warcs/ --csv report.csv --html report.html",
      "doppel report");
  ReportFlags flags;
  app.add_option("PATH", flags.paths, "WARC, ARC and WACZ files, and directories")->required();
  app.add_option("--csv", flags.csv, "write all rows to this file; - is stdout");
  app.add_option("--html", flags.html, "write a page for a browser to this file; - is stdout");
  app.add_option("--top", flags.top, "rows of each table in the text")->capture_default_str();
  app.footer(
      "Exit codes: 0 done; 1 done, but some files could not be read as a whole; 2 wrong usage; 3 stopped by "
      "an "
      "error.");
  if (auto code = parse_flags(app, argc, argv)) return *code;
  const absl::StatusOr<int> code = report(flags);
  if (code.ok()) return *code;
  const bool usage = absl::IsInvalidArgument(code.status()) || absl::IsNotFound(code.status());
  return fail("report", code.status(), usage ? kExitUsage : kExitStopped);
}

}  // namespace doppel

#include "insight/scan_page.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <string_view>

#include "fmt/format.h"
#include "insight/show.h"
#include "insight/text_diff.h"
#include "insight/text_page.h"

namespace doppel {
namespace {

constexpr size_t kName = 300;             // characters shown of a name
constexpr size_t kSnippet = 240;          // bytes shown of an original's beginning
constexpr size_t kAround = 300;           // bytes shown beside a passage
constexpr size_t kPiece = 1500;           // bytes shown of a changed piece
constexpr size_t kDifference = 24 << 10;  // bytes of HTML for one pair

constexpr std::string_view kStyle = R"(
main { max-width: 1200px; }
h3 { font-size: 16px; margin: 28px 0 4px; overflow-wrap: anywhere; }
.name { overflow-wrap: anywhere; }
.snippet { color: var(--quiet); border-left: 3px solid var(--line); margin: 0 0 8px; padding-left: 10px;
  overflow-wrap: anywhere; max-width: 100ch; }
.equal { text-align: center; font-size: 14px; max-width: none; margin: 2px 0; }
.copies { margin: 0 0 8px; padding: 0; list-style: none; }
.copies > li { margin: 4px 0; overflow-wrap: anywhere; }
.like { display: inline-block; min-width: 4.5em; font-variant-numeric: tabular-nums; color: var(--quiet); }
table { border-collapse: collapse; width: 100%; }
th, td { padding: 4px 0 4px 16px; border-bottom: 1px solid var(--line); font-weight: normal; text-align: right;
  vertical-align: top; font-variant-numeric: tabular-nums; white-space: nowrap; }
thead th { color: var(--quiet); font-size: 14px; }
th:first-child, td:first-child { padding-left: 0; }
th[scope=row] { text-align: left; white-space: normal; overflow-wrap: anywhere; width: 100%; }
.bar { display: inline-block; height: 10px; background: var(--band); border-radius: 2px; vertical-align: baseline; }
.times th[scope=row] { width: auto; white-space: nowrap; }
td.bars { width: 100%; text-align: left; }
@media (max-width: 700px) {
  table, tbody { display: block; }
  thead { display: none; }
  tr { display: flex; flex-wrap: wrap; gap: 0 14px; border-bottom: 1px solid var(--line); padding: 6px 0; }
  th, td { border: 0; padding: 0; text-align: left; }
  th[scope=row] { flex-basis: 100%; }
  td::after { content: " " attr(data-label); color: var(--quiet); font-size: 14px; }
  td.bars { display: none; }
}
@media print {
  .bar { border: 5px solid #999999; height: 0; }
  tr, .snippet { break-inside: avoid; }
}
)";

std::string name_of(const PageDocument& document) { return html_escape(one_line(document.name, kName)); }

std::string size_of(uint64_t bytes) { return with_unit(static_cast<double>(bytes)); }

std::string copies_of(uint64_t number) { return number == 1 ? "1 copy" : with_commas(number) + " copies"; }

std::string share(uint64_t part, uint64_t all) {
  return all == 0 ? "0 %"
                  : fmt::format("{:.1f} %", 100.0 * static_cast<double>(part) / static_cast<double>(all));
}

std::string cell(std::string_view label, std::string_view value) {
  return fmt::format(R"(<td data-label="{}">{}</td>)", label, value);
}

void add_head(Lines& out, std::initializer_list<std::string_view> columns, std::string_view name = "places") {
  out.raw(R"(<table class=")");
  out.raw(name);
  out.raw(R"("><thead><tr>)");
  for (const std::string_view column : columns) out.raw(fmt::format("<th>{}</th>", column));
  out.raw("</tr></thead><tbody>\n");
}

constexpr std::string_view kTableEnds = "</tbody></table>\n";

void add_numbers(Lines& out, const ScanPage& page) {
  const uint64_t copies = page.exact + page.near + page.partial;
  const auto number = [&](std::string_view name, const std::string& value, const std::string& detail) {
    out.line(R"(<div><dt>{}</dt><dd class="value">{}</dd><dd class="detail">{}</dd></div>)", name, value,
             detail);
  };
  out.line(R"(<dl class="numbers">)");
  number("documents", with_commas(page.documents), size_of(page.bytes));
  number("unique", with_commas(page.unique), share(page.unique, page.unique + copies) + " of the documents");
  number("copies", with_commas(copies),
         fmt::format("{} exact, {} near{}", with_commas(page.exact), with_commas(page.near),
                     page.partial == 0 ? "" : fmt::format(", {} of a part", with_commas(page.partial))));
  number("could go", size_of(page.copied_bytes), share(page.copied_bytes, page.bytes) + " of the bytes");
  out.line("</dl>");
}

void add_times(Lines& out, const ScanPage& page) {
  uint64_t most = 1;
  for (const ScanPage::Times& times : page.times) most = std::max(most, times.documents);
  out.line("<h2>How often documents came</h2>");
  add_head(out, {"", "originals", "documents", ""}, "times");
  for (const ScanPage::Times& times : page.times) {
    if (times.documents == 0) continue;
    // A bar has at least one per cent, so that it is seen.
    out.line(
        R"(<tr><th scope="row">{}</th>{}{}<td class="bars"><span class="bar" style="width:{}%"></span></td></tr>)",
        times.label, cell("originals", with_commas(times.originals)),
        cell("documents", with_commas(times.documents)), std::max<uint64_t>(1, times.documents * 100 / most));
  }
  out.raw(kTableEnds);
}

std::string in_words(const PageGroup& group) {
  const uint64_t near = group.copies - group.exact;
  return fmt::format("{}: {} exact, {} near; {} could go", copies_of(group.copies), with_commas(group.exact),
                     with_commas(near), size_of(group.bytes));
}

std::string like(const PageCopy& copy) {
  if (copy.kind == Kind::exact) return "exact";
  return fmt::format("{}.{:03}", copy.similarity_ppm / 1'000'000, copy.similarity_ppm % 1'000'000 / 1'000);
}

// The texts are the same as far as they are shown, or have the differences marked.
void add_pair(Lines& out, const PageDocument& a, const PageDocument& b, Normalisation normalisation) {
  TextDiff diff = diff_texts(*a.text, *b.text, normalisation);
  const bool whole = std::max(a.text->size(), b.text->size()) < kScanTextBytes;
  // What is left out ends the texts at different words.
  if (!whole && !diff.hunks.empty() && !diff.hunks.back().equal) {
    diff.removed -= diff.hunks.back().removed();
    diff.added -= diff.hunks.back().added();
    diff.hunks.pop_back();
  }
  out.line("<p class=\"quiet\">{}{}</p>", html_escape(difference_in_words(diff)),
           whole ? "" : fmt::format(" Only the first {} of each are shown.", size_of(kScanTextBytes)));
  if (diff.removed + diff.added == 0) return;
  add_differences(out, diff, {.context = 12, .piece = kPiece, .bytes = kDifference});
}

void add_group(Lines& out, const PageGroup& group, const EngineOptions& engine) {
  out.line("<h3>{}</h3>\n<p>{}</p>", name_of(group.original), in_words(group));
  if (group.original.text)
    out.line(R"(<p class="snippet" dir="auto">{}</p>)",
             html_escape(one_line(*group.original.text, kSnippet)));
  out.line(R"(<ul class="copies">)");
  bool opened = false;
  for (const PageCopy& copy : group.first) {
    const std::string head =
        fmt::format(R"(<span class="like">{}</span> {})", like(copy), name_of(copy.document));
    const bool texts = group.original.text && copy.document.text && copy.kind != Kind::exact;
    if (!texts || out.size() > kScanPageBytes) {
      out.line("<li>{}</li>", head);
      continue;
    }
    // Without scripts, what is closed is not printed: the first one is open.
    out.line("<li><details{}><summary>{}</summary>", opened ? "" : " open", head);
    opened = true;
    add_pair(out, group.original, copy.document, engine.scheme.normalisation);
    out.line("</details></li>");
  }
  if (group.copies > group.first.size())
    out.line("<li>and {} more</li>", with_commas(group.copies - group.first.size()));
  out.line("</ul>");
}

void add_groups(Lines& out, const ScanPage& page, const EngineOptions& engine) {
  if (page.groups.empty()) return;
  out.line("<h2>What came most often</h2>");
  out.line("<p class=\"quiet\">{}</p>",
           page.no_texts.empty() ? "A is the original, and B a copy." : html_escape(page.no_texts));
  const size_t shown = std::min(page.groups.size(), kScanGroupsInFull);
  for (size_t i = 0; i < shown; ++i) add_group(out, page.groups[i], engine);
  if (shown < page.groups.size()) {
    out.line("<h3>Further originals</h3>");
    add_head(out, {"", "copies", "exact", "could go"});
    for (size_t i = shown; i < page.groups.size(); ++i) {
      const PageGroup& group = page.groups[i];
      out.line(R"(<tr><th scope="row">{}</th>{}{}{}</tr>)", name_of(group.original),
               cell("copies", with_commas(group.copies)), cell("exact", with_commas(group.exact)),
               cell("could go", size_of(group.bytes)));
    }
    out.raw(kTableEnds);
  }
  if (page.other_groups != 0) {
    out.line("<p>And {} with {}, of which {} could go.</p>", counted(page.other_groups, "more original"),
             copies_of(page.other_copies), size_of(page.other_bytes));
  }
}

void add_places(Lines& out, std::string_view title, std::string_view noun, const PagePlaces& places) {
  if (places.most.empty()) return;
  out.line("<h2>{}</h2>", title);
  add_head(out, {"", "documents", "copies", "of them", "could go"});
  for (const PagePlace& place : places.most) {
    out.line(R"(<tr><th scope="row">{}</th>{}{}{}{}</tr>)", html_escape(one_line(place.name, kName)),
             cell("documents", with_commas(place.documents)), cell("copies", with_commas(place.copies)),
             cell("of them", share(place.copies, place.documents)), cell("could go", size_of(place.bytes)));
  }
  out.raw(kTableEnds);
  if (places.others != 0)
    out.line("<p>And {}{}.</p>", places.complete ? "" : "at least ",
             counted(places.others, fmt::format("more {}", noun)));
  if (!places.complete)
    out.line("<p class=\"quiet\">There were too many to count each one: numbers may be too low.</p>");
}

// "The original has .981 of it, and it has .213 of the original."
std::string shares_in_words(const PageRelated& related) {
  const auto fraction = [](uint32_t ppm) {
    return fmt::format("{}.{:03}", ppm / 1'000'000, ppm % 1'000'000 / 1'000);
  };
  if (related.relation == Relation::similar)
    return fmt::format("Their similarity is {}, below the threshold.", fraction(related.of_document_ppm));
  return fmt::format("B has {} of A, and A has {} of B.", fraction(related.of_document_ppm),
                     fraction(related.of_original_ppm));
}

void add_related(Lines& out, const ScanPage& page, const EngineOptions& engine) {
  if (page.counts.sum() == 0) return;
  out.line("<h2>Related documents</h2>");
  out.line("<p>Of the unique documents, {}.</p>", related_in_words(page.counts));
  for (const PageRelated& related : page.related) {
    out.line("<h3>A &nbsp;{} <span class=\"quiet\">{}</span> B &nbsp;{}</h3>\n<p>{}</p>",
             name_of(related.document), relation_verb(related.relation), name_of(related.original),
             shares_in_words(related));
    if (!related.document.text || !related.original.text || out.size() > kScanPageBytes) continue;
    const std::string &a = *related.document.text, &b = *related.original.text;
    const Explanation found = explain(engine, {related.original.name, b, ""}, {related.document.name, a, ""});
    if (!found.passages.has_value() || found.passages->in_second.empty()) continue;
    add_row(out, marked(a, found.passages->in_second, kAround), marked(b, found.passages->in_first, kAround));
  }
}

struct Step {
  uint64_t most;  // times that a document came
  std::string_view label;
};
constexpr std::array<Step, 8> kSteps{{{1, "once"},
                                      {2, "twice"},
                                      {3, "3 times"},
                                      {5, "4 or 5 times"},
                                      {10, "6 to 10 times"},
                                      {100, "11 to 100 times"},
                                      {1000, "101 to 1,000 times"},
                                      {UINT64_MAX, "more often"}}};

}  // namespace

bool takes_copy(std::vector<PageCopy>& shown, Kind kind) {
  constexpr size_t kMost = 3;
  if (shown.size() >= kMost && kind != Kind::exact) {
    const auto last = std::find_if(shown.rbegin(), shown.rend(),
                                   [](const PageCopy& copy) { return copy.kind == Kind::exact; });
    if (last != shown.rend()) shown.erase(std::next(last).base());
  }
  return shown.size() < kMost;
}

std::vector<ScanPage::Times> times_of(const std::vector<uint64_t>& copies, uint64_t alone) {
  std::vector<ScanPage::Times> out;
  out.reserve(kSteps.size());
  for (const Step& step : kSteps) out.push_back({.label = std::string(step.label)});
  for (const uint64_t number : copies) {
    const auto* const step =
        std::find_if(kSteps.begin(), kSteps.end(), [&](const Step& s) { return number + 1 <= s.most; });
    ScanPage::Times& row = out[static_cast<size_t>(step - kSteps.begin())];
    ++row.originals;
    row.documents += number + 1;
  }
  out[0].originals = out[0].documents = alone;
  return out;
}

std::string rule_in_words(const EngineOptions& engine) {
  return fmt::format(
      "An exact copy has the same text as an earlier document. A near copy has at least {:g} of all runs of "
      "{} "
      "words that the two have.",
      engine.rule.threshold_ppm / 1e6, engine.scheme.shingle_words);
}

std::string scan_page(const ScanPage& page, const EngineOptions& engine) {
  Lines out;
  begin_page(out, "Copies among the documents", kStyle);
  out.line("<h1>Copies among {}</h1>", counted(page.documents, "document"));
  out.line("<p class=\"name\">{}</p>\n<p class=\"quiet\">{}</p>", html_escape(page.input),
           html_escape(page.rule));
  add_numbers(out, page);
  add_times(out, page);
  add_groups(out, page, engine);
  add_places(out, "By folder", "folder", page.folders);
  add_places(out, "By host", "host", page.hosts);
  add_related(out, page, engine);
  if (!page.not_compared.empty()) {
    out.line("<h2>What was not compared</h2>");
    add_head(out, {"", "number"});
    for (const auto& [reason, number] : page.not_compared)
      out.line(R"(<tr><th scope="row">{}</th>{}</tr>)", html_escape(reason), cell("", with_commas(number)));
    out.raw(kTableEnds);
  }
  end_page(out);
  return out.take();
}

std::string related_in_words(const RelationCounts& counts) {
  std::string out;
  for (const Relation relation : kRelations) {
    if (const uint64_t count = counts[relation]; count != 0)
      out += fmt::format("{}{} {}", out.empty() ? "" : "; ", with_commas(count), relation_of_many(relation));
  }
  return out;
}

}  // namespace doppel

#include "insight/text_page.h"

#include <algorithm>
#include <cstdint>
#include <span>

#include "fmt/format.h"

namespace doppel {
namespace {

constexpr std::string_view kStyle = R"(
:root { color-scheme: light dark; --ground: #ffffff; --panel: #f6f8fa; --ink: #1f2328; --quiet: #59636e;
  --line: #d1d9e0; --yes: #1a7f37; --no: #9a6700; --band: #0969da;
  --del: #ffd7d5; --del-ink: #6e0f14; --ins: #c8f0d0; --ins-ink: #0b4a1e; }
@media (prefers-color-scheme: dark) {
  :root { --ground: #0d1117; --panel: #151b23; --ink: #e6edf3; --quiet: #9198a1; --line: #30363d; --yes: #3fb950;
    --no: #d29922; --band: #58a6ff; --del: #5a1e22; --del-ink: #ffdcd7; --ins: #16422a; --ins-ink: #c9f5d6; }
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--ground); color: var(--ink);
  font: 16px/1.55 system-ui, "Segoe UI", "Helvetica Neue", Arial, sans-serif; }
main { max-width: 1480px; margin: 0 auto; padding: 24px 16px 64px; }
h1 { font-size: 26px; line-height: 1.25; margin: 0 0 12px; padding-left: 14px; border-left: 6px solid var(--no); }
h1.duplicate { border-color: var(--yes); }
h2 { font-size: 18px; margin: 36px 0 12px; }
p { margin: 0 0 8px; max-width: 80ch; }
.quiet { color: var(--quiet); }
.numbers { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 230px), 1fr)); gap: 12px;
  margin: 24px 0 0; padding: 0; }
.numbers div { background: var(--panel); border: 1px solid var(--line); border-radius: 8px; padding: 12px 14px; }
.numbers dt { color: var(--quiet); font-size: 14px; }
.numbers dd { margin: 0; font-variant-numeric: tabular-nums; }
.numbers dd.value { font-size: 22px; font-weight: 600; line-height: 1.3; }
.numbers dd.detail { font-size: 14px; color: var(--quiet); }
.row, .heads { display: grid; grid-template-columns: minmax(0, 1fr) minmax(0, 1fr); gap: 0 16px; }
.heads { position: sticky; top: 0; background: var(--ground); border-bottom: 1px solid var(--line);
  padding: 8px 0; z-index: 1; }
.heads b { display: block; overflow-wrap: anywhere; }
.heads span { font-size: 14px; color: var(--quiet); }
.side { white-space: pre-wrap; overflow-wrap: anywhere; padding: 8px 10px; margin: 4px 0; border-radius: 6px;
  background: var(--panel); border-left: 3px solid var(--line); }
.side:empty { visibility: hidden; }
del, ins { border-radius: 3px; padding: 0 2px; -webkit-box-decoration-break: clone; box-decoration-break: clone; }
del { background: var(--del); color: var(--del-ink); text-decoration: line-through 1px; }
ins { background: var(--ins); color: var(--ins-ink); text-decoration: underline 1px; text-underline-offset: 3px; }
mark { background: var(--ins); color: var(--ins-ink); border-radius: 3px; }
details { margin: 4px 0; }
summary { cursor: pointer; color: var(--quiet); font-size: 14px; padding: 4px 10px; }
summary:focus-visible { outline: 2px solid var(--band); }
@media (max-width: 700px) {
  h1 { font-size: 22px; }
  .row { grid-template-columns: minmax(0, 1fr); }
  .row .side::before { content: attr(data-side); float: right; color: var(--quiet); font-size: 12px; margin-left: 8px; }
  .row .side.same { display: none; }
  .row { border-bottom: 1px solid var(--line); padding-bottom: 4px; margin-bottom: 4px; }
}
@media print {
  :root { color-scheme: light; --ground: #ffffff; --panel: #ffffff; --ink: #000000; --quiet: #444444;
    --line: #999999; --del: #ffffff; --del-ink: #6e0f14; --ins: #ffffff; --ins-ink: #0b4a1e; }
  .heads { position: static; }
  main { padding: 0; }
  mark { text-decoration: underline 1px; }
  h2, h3, .heads { break-after: avoid; }
  .side, .numbers div { break-inside: avoid; }
}
)";

constexpr std::string_view kLeftOut = " [...] ";

// The longest end of `text` that has at most `most` bytes and begins between two characters.
std::string_view utf8_suffix(std::string_view text, size_t most) {
  size_t at = text.size() - std::min(text.size(), most);
  while (at < text.size() && (static_cast<unsigned char>(text[at]) & 0xc0) == 0x80) ++at;
  return text.substr(at);
}

// Shows about `most` bytes of a text: its beginning and its end.
std::string shown_part(std::string_view text, size_t most) {
  if (text.size() <= most) return html_escape(text);
  return html_escape(utf8_prefix(text, most / 2)) + std::string(kLeftOut) +
         html_escape(utf8_suffix(text, most / 2));
}

// One side of a row. Trailing space is kept outside the <del> and <ins> elements.
std::string side_text(std::span<const DiffPiece> pieces, bool left, size_t most) {
  std::string out;
  for (const DiffPiece& piece : pieces) {
    const std::string_view text = left ? piece.a : piece.b;
    if (text.empty()) continue;
    if (piece.mark == Mark::equal || piece.mark == Mark::elided) {
      out += html_escape(text);
      continue;
    }
    const size_t end = text.find_last_not_of(" \t\r\n");
    const size_t visible = end == std::string_view::npos ? 0 : end + 1;
    const char* tag = left ? "del" : "ins";
    out += fmt::format("<{0}>{1}</{0}>", tag, shown_part(text.substr(0, visible), most));
    out += html_escape(text.substr(visible));
  }
  return out;
}

}  // namespace

std::string_view utf8_prefix(std::string_view text, size_t most) {
  if (text.size() <= most) return text;
  while (most > 0 && (static_cast<unsigned char>(text[most]) & 0xc0) == 0x80) --most;
  return text.substr(0, most);
}

void begin_page(Lines& page, std::string_view title, std::string_view style) {
  page.line("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">");
  page.line(R"(<meta name="viewport" content="width=device-width, initial-scale=1">)");
  page.line(
      R"(<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">)");
  page.line(R"(<meta name="generator" content="doppel">)");
  page.line("<title>{}</title>", html_escape(title));
  page.raw("<style>");
  page.raw(kStyle);
  page.raw(style);
  page.raw("</style>\n</head>\n<body>\n<main>\n");
}

void end_page(Lines& page) { page.raw("</main>\n</body>\n</html>\n"); }

void add_row(Lines& page, std::string_view left, std::string_view right) {
  page.line(R"(<div class="row"><div class="side" data-side="A" dir="auto">{}</div>)"
            R"(<div class="side{}" data-side="B" dir="auto">{}</div></div>)",
            left, left == right ? " same" : "", right);
}

void add_differences(Lines& page, const TextDiff& diff, const DifferenceLimits& limits) {
  const std::vector<DiffPiece> pieces = diff_pieces(diff, limits.context);
  const size_t end = page.size() + std::min(limits.bytes, SIZE_MAX - page.size());
  const auto row = [&](size_t from, size_t to) {
    if (from == to) return;
    const auto part = std::span(pieces).subspan(from, to - from);
    add_row(page, side_text(part, true, limits.piece), side_text(part, false, limits.piece));
  };
  size_t from = 0;
  for (size_t i = 0; i <= pieces.size(); ++i) {
    if (i < pieces.size() && pieces[i].mark != Mark::elided) continue;
    if (page.size() > end) {
      page.line(R"(<p class="quiet">There are more differences.</p>)");
      return;
    }
    row(from, i);
    from = i + 1;
    if (i == pieces.size()) break;
    const std::string words = fmt::format("{} equal words", with_commas(pieces[i].words));
    if (limits.bytes == SIZE_MAX) {
      page.line("<details><summary>{}</summary>", words);
      row(i, i + 1);
      page.line("</details>");
    } else {
      page.line(R"(<p class="quiet equal">{}</p>)", words);
    }
  }
}

std::string marked(std::string_view text, const std::vector<Passage>& passages, size_t around) {
  std::string out;
  size_t at = 0;
  // The text between two passages, or only what is near them.
  const auto between = [&](size_t to, bool before, bool after) {
    const std::string_view part = text.substr(at, to - at);
    const size_t sides = (before ? 1 : 0) + (after ? 1 : 0);
    if (around > part.size() / std::max<size_t>(sides, 1)) {
      out += html_escape(part);
      return;
    }
    if (before) out += html_escape(utf8_prefix(part, around));
    out += kLeftOut;
    if (after) out += html_escape(utf8_suffix(part, around));
  };
  for (const Passage& p : passages) {
    // A character can belong to two words, and so to two passages.
    const size_t begin = std::max<size_t>(at, p.bytes.begin);
    if (begin >= p.bytes.end) continue;
    between(begin, at != 0, true);
    const std::string_view passage = text.substr(begin, p.bytes.end - begin);
    out += fmt::format("<mark>{}</mark>",
                       around == SIZE_MAX ? html_escape(passage) : shown_part(passage, 4 * around));
    at = p.bytes.end;
  }
  between(text.size(), at != 0, false);
  return out;
}

}  // namespace doppel

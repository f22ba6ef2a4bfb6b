#include "status/page.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "formats/decoder.h"
#include "status/chart.h"
#include "stream/events.h"
#include "stream/metadata.h"
#include "text/utf8.h"

namespace doppel {

void append_html(std::string& out, std::string_view text) {
  for (size_t at = 0; at < text.size();) {
    const char c = text[at];
    if (static_cast<unsigned char>(c) >= 0x80) {
      char32_t code = 0;
      const int length = utf8::decode(reinterpret_cast<const uint8_t*>(&text[at]), text.size() - at, code);
      if (length > 0) {
        out += text.substr(at, static_cast<size_t>(length));
        at += static_cast<size_t>(length);
        continue;
      }
      out += "\xef\xbf\xbd";
    } else if (c == '&') {
      out += "&amp;";
    } else if (c == '<') {
      out += "&lt;";
    } else if (c == '>') {
      out += "&gt;";
    } else if (c == '"') {
      out += "&quot;";
    } else if (c == '\'') {
      out += "&#39;";
    } else if ((c < 0x20 && c != '\n' && c != '\t') || c == 0x7f) {
      out += "\xef\xbf\xbd";
    } else {
      out += c;
    }
    ++at;
  }
}

std::string without_credentials(std::string_view text) {
  std::string out;
  for (;;) {
    const size_t scheme = text.find("://");
    if (scheme == std::string_view::npos) break;
    out += text.substr(0, scheme + 3);
    text.remove_prefix(scheme + 3);
    const std::string_view authority = text.substr(0, text.find_first_of("/?# ,\""));
    if (const size_t at = authority.rfind('@'); at != std::string_view::npos) {
      out += "***";
      text.remove_prefix(at);
    }
  }
  out += text;
  return out;
}

namespace {

constexpr std::string_view kStyle = R"(
:root{color-scheme:light dark;--bg:#fbfbfa;--fg:#1c1e21;--soft:#5d636b;--line:#d9dce0;--card:#fff;--unique:#2f6fb2;--near:#c2571a;--exact:#8a3ea0;--other:#7b828a}
@media(prefers-color-scheme:dark){:root{--bg:#14161a;--fg:#e6e8ea;--soft:#a0a7af;--line:#343a42;--card:#1c2026;--unique:#6aa9e9;--near:#ef9150;--exact:#cf8ae3;--other:#9aa2ab}}
*{box-sizing:border-box}
body{margin:0 auto;max-width:96rem;padding:1rem;background:var(--bg);color:var(--fg);font:15px/1.45 system-ui,sans-serif}
h1{font-size:1.4rem;margin:0}h2{font-size:1.05rem;margin:0 0 .6rem}
a{color:inherit}p{margin:.3rem 0}.soft{color:var(--soft)}
header,footer{margin-bottom:1rem}
main{display:grid;gap:1rem;grid-template-columns:repeat(auto-fit,minmax(min(100%,34rem),1fr))}
section{background:var(--card);border:1px solid var(--line);border-radius:.5rem;padding:1rem;min-width:0}
section.wide{grid-column:1/-1}
dl{display:grid;grid-template-columns:repeat(auto-fit,minmax(8.5rem,1fr));gap:.6rem 1rem;margin:0}
dt{color:var(--soft);font-size:.85rem}dd{margin:0;font-size:1.15rem;font-variant-numeric:tabular-nums}
table{border-collapse:collapse;width:100%;font-size:.9rem}
th,td{text-align:left;padding:.3rem .5rem .3rem 0;border-top:1px solid var(--line);vertical-align:top;overflow-wrap:anywhere}
th{color:var(--soft);font-weight:500;border-top:0}
.n{text-align:right;white-space:nowrap;font-variant-numeric:tabular-nums;overflow-wrap:normal}
td.n,th.n{padding-left:.5rem}
.charts{display:grid;gap:1rem;grid-template-columns:repeat(auto-fit,minmax(min(100%,30rem),1fr))}
figure{margin:0}svg{display:block;width:100%;height:auto}
.events{table-layout:fixed}.events th:nth-child(2){width:9.5em}.events th:nth-child(4){width:5em}
svg text{font:12px system-ui,sans-serif;fill:var(--soft)}
.key{display:inline-block;width:.8em;height:.8em;border-radius:2px;margin:0 .35em 0 .9em}
summary{cursor:pointer;color:var(--soft)}code{font-size:.9em}
@media(max-width:40rem){svg text{font-size:19px}body{padding:.5rem}section{padding:.7rem}.events thead{display:none}.events tr{display:block;border-top:1px solid var(--line);padding:.4rem 0}.events td{display:block;border:0;padding:0;text-align:left}}
)";

std::string html(std::string_view text) {
  std::string out;
  append_html(out, text);
  return out;
}

std::string count(uint64_t n) {
  std::string digits = std::to_string(n), out;
  for (size_t i = 0; i < digits.size(); ++i) {
    if (i != 0 && (digits.size() - i) % 3 == 0) out += ',';
    out += digits[i];
  }
  return out;
}

std::string size(double bytes) {
  static constexpr std::array kUnits{"B", "KiB", "MiB", "GiB", "TiB"};
  size_t unit = 0;
  for (; bytes >= 1024 && unit + 1 < kUnits.size(); ++unit) bytes /= 1024;
  return fmt::format("{:.{}f} {}", bytes, unit == 0 || bytes >= 100 ? 0 : 1, kUnits[unit]);
}

std::string span(int64_t ms) {
  const int64_t s = std::max<int64_t>(ms, 0) / 1000;
  if (s < 120) return fmt::format("{} s", s);
  if (s < 7200) return fmt::format("{} min", s / 60);
  if (s < 172'800) return fmt::format("{} h", s / 3600);
  return fmt::format("{} d", s / 86'400);
}

std::string percent(uint64_t part, uint64_t whole) {
  return whole == 0 ? "–"
                    : fmt::format("{:.1f} %", 100.0 * static_cast<double>(part) / static_cast<double>(whole));
}

void fact(std::string& out, std::string_view name, std::string_view value) {
  out += fmt::format("<div><dt>{}</dt><dd>{}</dd></div>\n", html(name), html(value));
}

// So much that one document does not fill the page; cut between characters.
std::string shortened(std::string text) {
  constexpr size_t kMost = 160;
  if (text.size() <= kMost) return text;
  size_t end = kMost;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  text.resize(end);
  return text + "…";
}

// What a document is called, and where it is.
std::string document(std::string_view encoded) {
  Metadata m;
  if (!decode_metadata(encoded, m).ok()) return "<span class=soft>unknown</span>";
  std::string out = "<b>" + html(shortened(m.name())) + "</b>";
  if (m.url.empty()) return out;
  const std::string url = without_credentials(m.url);
  if (m.url.starts_with("http://") || m.url.starts_with("https://")) {
    out += fmt::format("<br><a class=soft rel=\"noreferrer noopener nofollow\" href=\"{}\">{}</a>", html(url),
                       html(shortened(url)));
  } else {
    out += "<br><span class=soft>" + html(shortened(url)) + "</span>";
  }
  return out;
}

std::string event_id(std::string_view encoded) {
  Metadata m;
  return decode_metadata(encoded, m).ok() ? m.event_id() : "";
}

std::string escape_path(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '-' || c == '_' || c == '.' || c == '~';
    if (plain) {
      out += c;
    } else {
      out += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return out;
}

void totals(std::string& out, const PageData& d) {
  if (d.samples.empty()) return;
  const Sample &a = d.samples.front(), &b = d.samples.back();
  const double seconds = std::max(1e-3, static_cast<double>(b.at_ms - a.at_ms) / 1e3);
  const uint64_t documents = b.documents - a.documents, exact = b.exact - a.exact, near = b.near - a.near;
  const uint64_t judged = b.unique - a.unique + exact + near;
  out += "<section class=wide id=rates><h2>The last hour</h2>\n<dl>";
  fact(out, "documents", count(documents));
  fact(out, "a second",
       documents == 0 ? "0" : fmt::format("{:.1f}", static_cast<double>(documents) / seconds));
  fact(out, "unique", count(b.unique - a.unique));
  fact(out, "near copies", count(near));
  fact(out, "exact copies", count(exact));
  fact(out, "dedup ratio", percent(exact + near, judged));
  fact(out, "of the bytes", percent(b.duplicate_bytes - a.duplicate_bytes, b.bytes - a.bytes));
  fact(out, "rejected", count(b.rejected - a.rejected));
  fact(out, "skipped, no text", count(b.skipped - a.skipped + b.unscored - a.unscored));
  out +=
      "</dl>\n<p class=soft><span class=key style=\"background:var(--unique);margin-left:0\"></span>unique"
      "<span class=key style=\"background:var(--near)\"></span>near copies"
      "<span class=key style=\"background:var(--exact)\"></span>exact copies"
      "<span class=key style=\"background:var(--other)\"></span>rejected, skipped, no text</p>\n"
      "<div class=charts><figure><figcaption class=soft>documents a second</figcaption>\n";
  append_rate_chart(out, d.samples);
  out += "</figure><figure><figcaption class=soft>dedup ratio: copies among what was compared</figcaption>\n";
  append_ratio_chart(out, d.samples);
  out += "</figure></div></section>\n";
}

void index_facts(std::string& out, const PageData& d) {
  out += "<section id=index><h2>Index</h2>\n";
  if (!d.index) {
    out += "<p>The stream is busy; reload the page.</p></section>\n";
    return;
  }
  const IndexStats& s = d.index->stats;
  out += "<dl>";
  fact(out, "originals", count(s.live));
  if (d.originals_most != 0) fact(out, "of at most", count(d.originals_most));
  fact(out, "memory", size(static_cast<double>(s.table_bytes + s.row_bytes)));
  fact(out, "of it tables", size(static_cast<double>(s.table_bytes)));
  fact(out, "texts' sets, on disk", size(static_cast<double>(d.index->body_bytes)));
  out += "</dl></section>\n<section id=snapshots><h2>Snapshots</h2>\n";
  if (!d.index->snapshots) {
    out += "<p>Nothing is kept (dry_run).</p></section>\n";
    return;
  }
  const CheckpointStats& c = *d.index->snapshots;
  out += "<dl>";
  fact(out, "last", c.last_ms == 0 ? "none yet" : span(d.now_ms - c.last_ms) + " ago");
  fact(out, "took", c.last_s == 0 ? "–" : fmt::format("{:.3f} s", c.last_s));
  fact(out, "commits since", count(c.commits_since));
  fact(out, "made in this run", count(c.made));
  fact(out, "failed", count(c.failed));
  out += "</dl></section>\n";
}

void lags(std::string& out, const PageData& d) {
  if (!d.lags) return;
  out +=
      "<section id=lag><h2>Lag</h2>\n<table><thead><tr><th>topic<th class=n>partition<th class=n>records<th "
      "class=n>seconds"
      "</thead><tbody>\n";
  for (const PageData::Lag& lag : *d.lags) {
    out += fmt::format("<tr><td>{}<td class=n>{}<td class=n>{}<td class=n>{}\n", html(lag.topic),
                       lag.partition, lag.records < 0 ? "?" : count(static_cast<uint64_t>(lag.records)),
                       lag.seconds ? fmt::format("{:.1f}", *lag.seconds) : "–");
  }
  out += "</tbody></table></section>\n";
}

void events(std::string& out, const PageData& d) {
  out += "<section class=wide id=events><h2>Last copies</h2>\n";
  if (d.events.empty()) {
    out += "<p class=soft>None yet.</p></section>\n";
    return;
  }
  out +=
      "<table class=events><thead><tr><th>document<th class=n>similarity<th>original<th "
      "class=n>ago</thead><tbody>\n";
  for (size_t i = 0; i < std::min<size_t>(d.events.size(), 20); ++i) {
    const LastEvent& e = d.events[i];
    out += fmt::format(
        "<tr><td>{}<td class=n>{:.3f} {}<td>{}<br><a class=soft href=\"/v1/clusters/{}\">cluster</a><td "
        "class=n>{}\n",
        document(e.copy.document), e.copy.similarity_ppm / 1e6, e.copy.kind == Kind::exact ? "exact" : "near",
        document(e.original), escape_path(event_id(e.original)), span(d.now_ms - e.copy.at_ms));
  }
  out += "</tbody></table></section>\n";
}

std::string about(uint64_t n, uint64_t error) {
  return count(n) + (error == 0 ? "" : fmt::format(" (−{})", count(error)));
}

void most_copied(std::string& out, const PageData& d) {
  out +=
      "<section id=originals><h2>Most-copied originals</h2>\n<table><thead><tr><th>original<th "
      "class=n>copies</thead><tbody>\n";
  for (const auto& entry : d.originals)
    out += fmt::format("<tr><td>{}<td class=n>{}\n", document(entry.note), about(entry.count, entry.error));
  out +=
      "</tbody></table>\n<p class=soft>Since the start. (−n): up to n of them may be "
      "another's.</p></section>\n";
  out +=
      "<section id=hosts><h2>Hosts</h2>\n<table><thead><tr><th>copies on<th>originals on<th "
      "class=n>copies</thead><tbody>\n";
  for (const auto& entry : d.host_pairs) {
    const size_t line = entry.key.find('\n');
    out += fmt::format("<tr><td>{}<td>{}<td class=n>{}\n", html(entry.key.substr(0, line)),
                       html(entry.key.substr(line + 1)), about(entry.count, entry.error));
  }
  out += "</tbody></table></section>\n";
}

void settings(std::string& out, const PageData& d) {
  out +=
      "<section class=wide id=settings><h2>Configuration in force</h2>\n<details><summary>All "
      "settings</summary>\n"
      "<table><thead><tr><th>setting<th>value<th>from</thead><tbody>\n";
  for (const PageData::Setting& s : d.settings)
    out += fmt::format("<tr><td>{}<td><code>{}</code><td class=soft>{}\n", html(s.key),
                       html(without_credentials(s.value)), html(s.origin));
  out += "</tbody></table></details></section>\n";
}

}  // namespace

std::string status_page(const PageData& d) {
  std::string out =
      "<!doctype html>\n<html lang=en>\n<head><meta charset=utf-8><title>doppel</title>"
      "<meta name=viewport content=\"width=device-width,initial-scale=1\"><link rel=icon "
      "href=\"data:,\"><style>";
  out += kStyle;
  out += fmt::format(
      "</style></head>\n<body>\n<header><h1>doppel</h1><p class=soft>{} · {} · up {} · {} · "
      "<a id=reload href=\"/\">reload</a></p></header>\n<main>\n",
      html(d.version), html(d.mode), span(d.now_ms - d.start_ms), format_time(d.now_ms / 1000 * 1000));
  totals(out, d);
  index_facts(out, d);
  lags(out, d);
  events(out, d);
  most_copied(out, d);
  settings(out, d);
  out +=
      "</main>\n<footer class=soft><p><a href=\"/metrics\">/metrics</a> · <a href=\"/ready\">/ready</a> · "
      "<a href=\"/version\">/version</a></p></footer>\n</body>\n</html>\n";
  return out;
}

}  // namespace doppel

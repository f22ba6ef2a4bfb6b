#include "status/page_parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <string_view>
#include <tuple>

#include "base/utf8.h"
#include "formats/decoder.h"
#include "records/metadata.h"
#include "status/page.h"

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

namespace page {
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
td.n,th.n{padding-left:.5rem}.n+td,.n+th{padding-left:1rem}
.charts{display:grid;gap:1rem;grid-template-columns:repeat(auto-fit,minmax(min(100%,30rem),1fr))}
figure{margin:0}svg{display:block;width:100%;height:auto}
.events{table-layout:fixed}.events th:nth-child(2){width:9.5em}.events th:nth-child(4){width:5em}
svg text{font:12px system-ui,sans-serif;fill:var(--soft)}
.legend span{white-space:nowrap}.key{display:inline-block;width:.8em;height:.8em;border-radius:2px;margin:0 .35em 0 .9em}
summary{cursor:pointer;color:var(--soft)}code{font-size:.9em}
@media(max-width:40rem){svg text{font-size:18px}body{padding:.5rem}section{padding:.7rem}.labelled thead{display:none}.labelled tr{display:block;border-top:1px solid var(--line);padding:.4rem 0}.labelled td{display:block;border:0;padding:0 0 0 6.5rem;text-align:left;white-space:normal;min-height:1.45em;position:relative}.labelled td::before{content:attr(data-label);position:absolute;left:0;width:6.2rem;color:var(--soft)}}
)";

}  // namespace

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

std::string rate(double n) {
  if (n == 0) return "0";
  if (n < 0.1) return "< 0.1";
  return n < 1000 ? fmt::format("{:.1f}", n) : count(static_cast<uint64_t>(std::llround(n)));
}

std::string percent(uint64_t part, uint64_t whole) {
  return whole == 0 ? "–"
                    : fmt::format("{:.1f} %", 100.0 * static_cast<double>(part) / static_cast<double>(whole));
}

void fact(std::string& out, std::string_view name, std::string_view value) {
  out += fmt::format("<div><dt>{}</dt><dd>{}</dd></div>\n", html(name), html(value));
}

// The most bytes of a text that is shown, so that one document does not fill the page.
constexpr size_t kMost = 160;

bool within_character(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

std::string shortened(std::string text) {
  if (text.size() <= kMost) return text;
  size_t end = kMost;
  while (end > 0 && within_character(text[end])) --end;
  text.resize(end);
  return text + "…";
}

std::string shortened_place(std::string text) {
  if (text.size() <= kMost) return text;
  size_t begin = text.size() - kMost;
  while (begin < text.size() && within_character(text[begin])) ++begin;
  return "…" + text.substr(begin);
}

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

std::string begin(std::string_view title, int refresh_s) {
  std::string out = "<!doctype html>\n<html lang=en>\n<head><meta charset=utf-8><title>" + html(title) +
                    "</title><meta name=viewport content=\"width=device-width,initial-scale=1\">";
  if (refresh_s > 0) out += fmt::format("<meta http-equiv=refresh content={}>", refresh_s);
  out += "<link rel=icon href=\"data:,\"><style>";
  out += kStyle;
  return out + "</style></head>\n<body>\n";
}

}  // namespace page
}  // namespace doppel

namespace doppel {
namespace {

constexpr double kWidth = 600, kLeft = 80, kRight = 8, kTop = 18, kBottom = 24;
constexpr int64_t kHourMs = 3'600'000, kMinuteMs = 60'000;

struct Frame {
  int64_t begin_ms, end_ms;
  double height, most;
  // The time axis covers all samples, at least a minute and at most an hour.
  Frame(const std::vector<Sample>& samples, double high, double top) : height(high), most(top) {
    end_ms = samples.back().at_ms;
    begin_ms = end_ms - std::clamp(end_ms - samples.front().at_ms, kMinuteMs, kHourMs);
  }
  double x(int64_t ms) const {
    const double share = static_cast<double>(ms - begin_ms) / static_cast<double>(end_ms - begin_ms);
    return kLeft + std::clamp(share, 0.0, 1.0) * (kWidth - kLeft - kRight);
  }
  double y(double value) const { return height - kBottom - value / most * (height - kTop - kBottom); }
};

// The least of 1, 2 or 5 times a power of ten that is not below `value`.
double round_up(double value) {
  if (value <= 0) return 1;
  const double power = std::pow(10, std::floor(std::log10(value)));
  for (const double step : {1.0, 2.0, 5.0}) {
    if (step * power >= value) return step * power;
  }
  return 10 * power;
}

void begin(std::string& out, const Frame& frame, std::string_view title, std::string_view top,
           std::string_view half) {
  out += fmt::format("<svg viewBox=\"0 0 {} {}\" role=img><title>{}</title>\n", kWidth, frame.height, title);
  for (const auto& [value, label] :
       {std::pair(frame.most, top), std::pair(frame.most / 2, half), std::pair(0.0, std::string_view("0"))}) {
    out += fmt::format(
        "<line x1={0} x2={1} y1={2:.1f} y2={2:.1f} stroke=\"var(--line)\"/><text x={3} y={4:.1f} "
        "text-anchor=end>{5}</text>\n",
        kLeft, kWidth - kRight, frame.y(value), kLeft - 6, frame.y(value) + 4, label);
  }
  const int64_t window_ms = frame.end_ms - frame.begin_ms;
  const auto label = [&](int64_t ms) {
    return ms >= 3 * kMinuteMs ? fmt::format("−{} min", ms / kMinuteMs) : fmt::format("−{} s", ms / 1000);
  };
  for (const auto& [at_ms, anchor, text] :
       {std::tuple(frame.begin_ms, "start", label(window_ms)),
        std::tuple(frame.begin_ms + window_ms / 2, "middle", label(window_ms / 2)),
        std::tuple(frame.end_ms, "end", std::string("now"))}) {
    out += fmt::format("<text x={:.1f} y={:.1f} text-anchor={}>{}</text>\n", frame.x(at_ms), frame.height - 5,
                       anchor, text);
  }
}

std::string short_number(double value) {
  if (value >= 1e6) return fmt::format("{:g} M", value / 1e6);
  if (value >= 1e3) return fmt::format("{:g} k", value / 1e3);
  return fmt::format("{:g}", value);
}

constexpr size_t kBands = 4;
constexpr std::array<std::string_view, kBands> kColours{"--unique", "--near", "--exact", "--other"};

// Documents per second between two samples, by band of the chart.
std::array<double, kBands> rates(const Sample& a, const Sample& b) {
  const double seconds = std::max(1e-3, static_cast<double>(b.at_ms - a.at_ms) / 1e3);
  const auto rate = [&](uint64_t before, uint64_t after) {
    return static_cast<double>(after - before) / seconds;
  };
  return {rate(a.unique, b.unique), rate(a.near + a.partial, b.near + b.partial), rate(a.exact, b.exact),
          rate(a.rejected + a.skipped + a.unscored, b.rejected + b.skipped + b.unscored)};
}

}  // namespace

void append_rate_chart(std::string& out, const std::vector<Sample>& samples) {
  if (samples.empty()) return;
  Frame frame(samples, 180, 0);
  std::vector<std::array<double, kBands>> steps;
  for (size_t i = 1; i < samples.size(); ++i) {
    steps.push_back(rates(samples[i - 1], samples[i]));
    double sum = 0;
    for (const double rate : steps.back()) sum += rate;
    frame.most = std::max(frame.most, sum);
  }
  frame.most = round_up(frame.most);
  begin(out, frame, "Documents per second in the last hour, by verdict", short_number(frame.most) + "/s",
        short_number(frame.most / 2));
  std::vector<double> floor(steps.size(), 0);
  for (size_t band = 0; band < kBands && !steps.empty(); ++band) {
    std::string above, below;
    for (size_t i = 0; i < steps.size(); ++i) {
      const double low = floor[i], high = floor[i] += steps[i][band];
      const double from = frame.x(samples[i].at_ms), to = frame.x(samples[i + 1].at_ms);
      above += fmt::format("{0:.1f},{1:.1f} {2:.1f},{1:.1f} ", from, frame.y(high), to);
      below.insert(0, fmt::format("{2:.1f},{1:.1f} {0:.1f},{1:.1f} ", from, frame.y(low), to));
    }
    out += fmt::format("<polygon fill=\"var({})\" points=\"{}{}\"/>\n", kColours[band], above, below);
  }
  out += "</svg>\n";
}

void append_ratio_chart(std::string& out, const std::vector<Sample>& samples) {
  if (samples.empty()) return;
  const Frame frame(samples, 180, 1);
  begin(out, frame, "Dedup ratio in the last hour", "100 %", "50 %");
  std::string line;
  const auto flush = [&] {
    if (!line.empty())
      out += fmt::format("<polyline fill=none stroke=\"var(--near)\" stroke-width=2 points=\"{}\"/>\n", line);
    line.clear();
  };
  for (size_t i = 1; i < samples.size(); ++i) {
    const Sample &a = samples[i - 1], &b = samples[i];
    const uint64_t copies = b.copies() - a.copies(), all = copies + b.unique - a.unique;
    if (all == 0) {
      flush();
      continue;
    }
    const double y = frame.y(static_cast<double>(copies) / static_cast<double>(all));
    line += fmt::format("{0:.1f},{1:.1f} {2:.1f},{1:.1f} ", frame.x(a.at_ms), y, frame.x(b.at_ms));
  }
  flush();
  out += "</svg>\n";
}

}  // namespace doppel

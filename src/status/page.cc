#include "status/page.h"

#include <fmt/format.h>

#include <algorithm>

#include "records/events.h"
#include "status/page_parts.h"

namespace doppel {
namespace {

using namespace page;

// Rates over the last half minute, or since the start if that is shorter.
void rates_of_now(std::string& out, const PageData& d) {
  constexpr int64_t kNowMs = 30'000;
  if (d.samples.size() < 2) return;
  const Sample& b = d.samples.back();
  const auto later = std::find_if(d.samples.begin(), d.samples.end(),
                                  [&](const Sample& s) { return s.at_ms > b.at_ms - kNowMs; });
  const Sample& a = later == d.samples.begin() ? *later : *(later - 1);
  const double seconds = std::max(1e-3, static_cast<double>(b.at_ms - a.at_ms) / 1e3);
  const auto a_second = [&](uint64_t n) { return rate(static_cast<double>(n) / seconds); };
  const uint64_t copies = b.copies() - a.copies();
  out += fmt::format(
      "<section class=wide id=now><h2>Now</h2>\n<p class=soft>Per second, over the last {}.</p>\n<dl>",
      span(b.at_ms - a.at_ms));
  fact(out, "documents", a_second(b.documents - a.documents));
  fact(out, "bytes", size(static_cast<double>(b.bytes - a.bytes) / seconds));
  fact(out, "copies", a_second(copies));
  fact(out, "dedup ratio", percent(copies, b.unique - a.unique + copies));
  fact(out, "rejected", a_second(b.rejected - a.rejected));
  out += "</dl></section>\n";
}

void totals(std::string& out, const PageData& d) {
  if (d.samples.empty()) return;
  const Sample &a = d.samples.front(), &b = d.samples.back();
  const double seconds = std::max(1e-3, static_cast<double>(b.at_ms - a.at_ms) / 1e3);
  const uint64_t documents = b.documents - a.documents, exact = b.exact - a.exact, near = b.near - a.near;
  const uint64_t copies = b.copies() - a.copies(), judged = b.unique - a.unique + copies;
  const uint64_t partial = b.partial - a.partial;
  out += "<section class=wide id=rates><h2>The last hour</h2>\n<dl>";
  fact(out, "documents", count(documents));
  fact(out, "per second", rate(static_cast<double>(documents) / seconds));
  fact(out, "unique", count(b.unique - a.unique));
  fact(out, "near copies", count(near));
  fact(out, "exact copies", count(exact));
  if (partial != 0) fact(out, "copies of a part", count(partial));
  fact(out, "dedup ratio", percent(copies, judged));
  for (const Relation relation : kRelations) {
    const uint64_t related = b.related[relation] - a.related[relation];
    if (related != 0) fact(out, fmt::format("unique that {}", relation_of_many(relation)), count(related));
  }
  fact(out, "share of bytes", percent(b.duplicate_bytes - a.duplicate_bytes, b.bytes - a.bytes));
  fact(out, "rejected", count(b.rejected - a.rejected));
  fact(out, "skipped or without text", count(b.skipped - a.skipped + b.unscored - a.unscored));
  out +=
      "</dl>\n<p class=\"soft legend\"><span><span class=key "
      "style=\"background:var(--unique);margin-left:0\"></span>unique</span>"
      " <span><span class=key style=\"background:var(--near)\"></span>near copies</span>"
      " <span><span class=key style=\"background:var(--exact)\"></span>exact copies</span>"
      " <span><span class=key style=\"background:var(--other)\"></span>rejected, skipped, without "
      "text</span></p>\n"
      "<div class=charts><figure><figcaption class=soft>documents per second</figcaption>\n";
  append_rate_chart(out, d.samples);
  out +=
      "</figure><figure><figcaption class=soft>dedup ratio: copies among the compared "
      "documents</figcaption>\n";
  append_ratio_chart(out, d.samples);
  out += "</figure></div></section>\n";
}

void index_facts(std::string& out, const PageData& d) {
  out += "<section id=index><h2>Index</h2>\n";
  if (!d.index) {
    out += "<p>The stream is busy; reload the page.</p></section>\n";
    return;
  }
  const OriginalsStats& s = d.index->stats;
  out += "<dl>";
  fact(out, "originals", count(s.live));
  if (d.originals_most != 0) fact(out, "at most", count(d.originals_most));
  if (s.old) {
    fact(out, "in segments", count(s.old->live));
    fact(out, "segments", count(s.old->segments));
    fact(out, "pages read of segments", count(s.old->key_pages + s.old->row_pages));
  }
  fact(out, "memory", size(static_cast<double>(s.memory_bytes())));
  fact(out, "tables", size(static_cast<double>(s.table_bytes)));
  fact(out, "shingle sets, on disk", size(static_cast<double>(d.index->body_bytes)));
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

std::string time_behind(double seconds) {
  return seconds < 10 ? fmt::format("{:.1f} s", seconds) : span(static_cast<int64_t>(seconds * 1e3));
}

void lags(std::string& out, const PageData& d) {
  if (!d.lags) return;
  out +=
      "<section id=lag><h2>Lag</h2>\n<table class=labelled><thead><tr><th>topic<th class=n>partition<th "
      "class=n>records behind<th class=n>time behind</thead><tbody>\n";
  for (const PageData::Lag& lag : *d.lags) {
    out += fmt::format(
        "<tr><td data-label=topic>{}<td class=n data-label=partition>{}<td class=n data-label=\"records "
        "behind\">{}<td class=n data-label=\"time behind\">{}\n",
        html(lag.topic), lag.partition, lag.records < 0 ? "?" : count(static_cast<uint64_t>(lag.records)),
        lag.seconds ? time_behind(*lag.seconds) : "–");
  }
  out += "</tbody></table></section>\n";
}

void cluster(std::string& out, const PageData& d) {
  if (!d.cluster) return;
  out += "<section class=wide id=cluster><h2>Cluster</h2>\n<dl>";
  fact(out, "this process", d.cluster->role);
  for (const auto& [name, value] : d.cluster->facts) fact(out, name, value);
  out += "</dl>\n";
  if (!d.cluster->decides) return void(out += "</section>\n");
  out +=
      "<table class=labelled><thead><tr><th>matchers of<th class=n>ahead, records<th class=n>behind, "
      "batches<th class=n>last answer</thead><tbody>\n";
  for (const ClusterPart::Matcher& matcher : d.cluster->matchers) {
    out += fmt::format(
        "<tr><td data-label=\"matchers of\">{}{}<td class=n data-label=\"ahead, records\">{}<td class=n "
        "data-label=\"behind, batches\">{}<td class=n data-label=\"last answer\">{} ago\n",
        html(matcher.shards), matcher.in_use ? "" : " <span class=soft>not in use</span>",
        count(matcher.ahead), count(matcher.behind_batches), span(d.now_ms - matcher.heard_ms));
  }
  out += "</tbody></table></section>\n";
}

std::string cluster_link(std::string_view original) {
  return fmt::format("<a class=soft href=\"/clusters/{}\">cluster</a>", escape_path(event_id(original)));
}

void events(std::string& out, const PageData& d) {
  out += "<section class=wide id=events><h2>Last copies</h2>\n";
  if (d.events.empty()) {
    out += "<p class=soft>None yet.</p></section>\n";
    return;
  }
  out +=
      "<table class=\"events labelled\"><thead><tr><th>document<th class=n>similarity<th>original<th "
      "class=n>ago</thead><tbody>\n";
  for (size_t i = 0; i < std::min<size_t>(d.events.size(), 20); ++i) {
    const LastEvent& e = d.events[i];
    out += fmt::format(
        "<tr><td data-label=document>{}<td class=n data-label=similarity>{:.3f} {}<td "
        "data-label=original>{}<br>{}<td class=n data-label=ago>{}\n",
        document(e.copy.document), e.copy.similarity_ppm / 1e6, kind_name(e.copy.kind), document(e.original),
        cluster_link(e.original), span(d.now_ms - e.copy.at_ms));
  }
  out += "</tbody></table></section>\n";
}

// The time within which a share of the requests were answered: the bound of a bucket.
std::string answered_within(const http::Counts& h, uint64_t requests, double part) {
  uint64_t sum = 0;
  for (size_t i = 0; i < h.kTimes.size(); ++i) {
    sum += h.times[i];
    if (static_cast<double>(sum) >= part * static_cast<double>(requests))
      return fmt::format("{} s", h.kTimes[i]);
  }
  return "more than a minute";
}

void requests(std::string& out, const PageData& d) {
  if (!d.http) return;
  const http::Counts& h = *d.http;
  uint64_t all = 0, refused = 0, put_off = 0;
  for (const auto& [status, n] : h.responses) {
    all += n;
    const bool later = status == 429 || status == 503;
    (later ? put_off : refused) += status >= 400 ? n : 0;
  }
  out += "<section id=http><h2>Requests</h2>\n<dl>";
  fact(out, "answered", count(all));
  fact(out, "refused", count(refused));
  fact(out, "put off (429, 503)", count(put_off));
  if (all != 0) {
    fact(out, "half of them within", answered_within(h, all, .5));
    fact(out, "99 of 100 within", answered_within(h, all, .99));
  }
  fact(out, "waiting", count(h.waiting));
  fact(out, "connections", count(h.connections));
  fact(out, "bodies in memory", size(static_cast<double>(h.body_bytes)));
  fact(out, "at most", size(static_cast<double>(h.body_bytes_most)));
  out += "</dl>\n<p class=soft>Since the start, without probes.</p></section>\n";
}

void dead_letters(std::string& out, const PageData& d) {
  if (d.dead_letters.empty()) return;
  out +=
      "<section class=wide id=dead><h2>Last records that were rejected</h2>\n<table "
      "class=labelled><thead><tr>"
      "<th>record<th>why<th class=n>ago</thead><tbody>\n";
  for (const DeadLetter& letter : d.dead_letters) {
    out += fmt::format("<tr><td data-label=record>{}<td data-label=why>{}<td class=n data-label=ago>{}\n",
                       html(shortened_place(without_credentials(letter.where))),
                       html(shortened(without_credentials(letter.reason))), span(d.now_ms - letter.at_ms));
  }
  out += "</tbody></table></section>\n";
}

std::string about(uint64_t n, uint64_t error) {
  return count(n) + (error == 0 ? "" : fmt::format(" (−{})", count(error)));
}

void most_copied(std::string& out, const PageData& d) {
  out +=
      "<section id=originals><h2>Most-copied originals</h2>\n<table "
      "class=labelled><thead><tr><th>original<th "
      "class=n>copies</thead><tbody>\n";
  for (const auto& entry : d.originals)
    out += fmt::format("<tr><td data-label=original>{}<br>{}<td class=n data-label=copies>{}\n",
                       document(entry.note), cluster_link(entry.note), about(entry.count, entry.error));
  out +=
      "</tbody></table>\n<p class=soft>Since the start. (−n): up to n of them may be "
      "another's.</p></section>\n";
  out +=
      "<section id=hosts><h2>Hosts</h2>\n<table class=labelled><thead><tr><th>copies on<th>originals on<th "
      "class=n>copies</thead><tbody>\n";
  for (const auto& entry : d.host_pairs) {
    const size_t line = entry.key.find('\n');
    out += fmt::format(
        "<tr><td data-label=\"copies on\">{}<td data-label=\"originals on\">{}<td class=n "
        "data-label=copies>{}\n",
        html(entry.key.substr(0, line)), html(entry.key.substr(line + 1)), about(entry.count, entry.error));
  }
  out += "</tbody></table></section>\n";
}

void settings(std::string& out, const PageData& d) {
  out +=
      "<section class=wide id=settings><h2>Configuration in force</h2>\n<details><summary>All "
      "settings</summary>\n"
      "<table class=labelled><thead><tr><th>setting<th>value<th>from</thead><tbody>\n";
  for (const PageData::Setting& s : d.settings)
    out += fmt::format(
        "<tr><td data-label=setting>{}<td data-label=value><code>{}</code><td class=soft "
        "data-label=from>{}\n",
        html(s.key), html(without_credentials(s.value)), html(s.origin));
  out += "</tbody></table></details></section>\n";
}

}  // namespace

std::string status_page(const PageData& d) {
  std::string out = begin("doppel", d.refresh_s);
  out += fmt::format(
      "<header><h1>doppel</h1><p class=soft>{} · {} · up {} · {} · "
      "{}</p></header>\n<main>\n",
      html(d.version), html(d.mode), span(d.now_ms - d.start_ms), format_time(d.now_ms / 1000 * 1000),
      d.refresh_s > 0 ? fmt::format("refreshed every {} s · <a id=hold href=\"/?hold\">hold</a>", d.refresh_s)
                      : "<a id=reload href=\"/\">refresh</a>");
  const bool decides = !d.cluster || d.cluster->decides;
  if (decides) {
    rates_of_now(out, d);
    totals(out, d);
  }
  index_facts(out, d);
  cluster(out, d);
  lags(out, d);
  requests(out, d);
  if (decides) {
    events(out, d);
    dead_letters(out, d);
    most_copied(out, d);
  }
  settings(out, d);
  out +=
      "</main>\n<footer class=soft><p><a href=\"/metrics\">/metrics</a> · <a href=\"/ready\">/ready</a> · "
      "<a href=\"/version\">/version</a></p></footer>\n</body>\n</html>\n";
  return out;
}

namespace {

std::string links(std::string_view id) {
  return fmt::format(
      "<footer class=soft><p><a href=\"/\">doppel</a> · <a href=\"/v1/clusters/{}\">as "
      "JSON</a></p></footer>\n",
      escape_path(id));
}

}  // namespace

std::string cluster_page(std::string_view id, const Cluster& cluster, int64_t now_ms) {
  std::string out = begin("doppel: cluster", 0);
  out += "<header><h1>Cluster</h1><p class=soft>An original and its copies.</p></header>\n<main>\n";
  out += "<section class=wide id=original><h2>Original</h2>\n<p>" + document(cluster.original) + "</p>\n<dl>";
  fact(out, "exact copies", count(cluster.exact));
  fact(out, "near copies", count(cluster.near));
  fact(out, "first copy", span(now_ms - cluster.first_ms) + " ago");
  fact(out, "last copy", span(now_ms - cluster.last_ms) + " ago");
  out += fmt::format("</dl>\n<p class=soft>Counted since {}.</p></section>\n",
                     format_time(cluster.since_ms / 1000 * 1000));
  out +=
      "<section class=wide id=copies><h2>Last copies</h2>\n<table class=labelled><thead><tr><th>document"
      "<th class=n>similarity<th>kind<th class=n>ago</thead><tbody>\n";
  for (const Copy* copy : cluster.last()) {
    out += fmt::format(
        "<tr><td data-label=document>{}<td class=n data-label=similarity>{:.3f}{}<td data-label=kind>{}"
        "<td class=n data-label=ago>{}\n",
        document(copy->document), copy->similarity_ppm / 1e6, copy->estimated ? " (estimated)" : "",
        kind_name(copy->kind), span(now_ms - copy->at_ms));
  }
  out += "</tbody></table></section>\n</main>\n" + links(id) + "</body>\n</html>\n";
  return out;
}

std::string no_cluster_page(std::string_view id) {
  return begin("doppel: cluster", 0) +
         "<header><h1>Cluster</h1></header>\n<main><section class=wide><p>No cluster of this id grew "
         "recently. The API searches all originals.</p></section></main>\n" +
         links(id) + "</body>\n</html>\n";
}

}  // namespace doppel

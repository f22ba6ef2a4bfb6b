#include "status/page.h"

#include <gmock/gmock.h>

#include "records/metadata.h"
#include "status/page_parts.h"

namespace doppel {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string escaped(std::string_view text) {
  std::string out;
  append_html(out, text);
  return out;
}

TEST(Page, EscapesEverything) {
  EXPECT_EQ(escaped("a<b>&\"'é"), "a&lt;b&gt;&amp;&quot;&#39;é");
  std::string replaced;
  for (int i = 0; i < 5; ++i) replaced += "\xef\xbf\xbd";
  EXPECT_EQ(escaped(std::string_view("\0\x1b\x7f\xff\xc3", 5)), replaced);
  EXPECT_EQ(without_credentials("http://u:p@h/a@b, https://x/"), "http://***@h/a@b, https://x/");
  EXPECT_EQ(without_credentials("no address"), "no address");
}

PageData hostile() {
  const std::string bad = "\"><script>x</script>'\xff";
  std::string metadata;
  encode_metadata({.source = bad, .offset = 1, .id = bad, .url = "http://" + bad}, metadata);
  PageData data{.version = bad, .mode = bad, .now_ms = 9'000'000, .start_ms = 1'000};
  data.samples = {{.at_ms = 1'000}, {.at_ms = 9'000'000, .documents = 10, .unique = 4, .near = 6}};
  data.index.emplace();
  data.lags = {{.topic = bad, .partition = 3, .records = 1234, .seconds = 1.5},
               {.topic = "t", .records = -1}};
  data.events.resize(2);
  data.events[0].copy.document = data.events[0].original = metadata;
  data.events[1].copy.document = "damaged";
  data.originals = {{.key = 1, .count = 10, .error = 2, .note = metadata}};
  data.host_pairs = {{.key = bad + "\n" + bad, .count = 1}};
  data.dead_letters = {{.where = bad, .reason = bad, .at_ms = 8'999'000}};
  data.settings = {{.key = bad, .value = bad, .origin = bad}};
  return data;
}

TEST(Page, HostileTextsStayTexts) {
  const std::string page = status_page(hostile());
  EXPECT_THAT(page, Not(HasSubstr("<script")));
  EXPECT_THAT(page, Not(HasSubstr("\xff")));
  EXPECT_THAT(page, HasSubstr("&lt;script&gt;"));
}

TEST(Page, ShowsWhatItIsGiven) {
  const std::string page = status_page(hostile());
  EXPECT_THAT(page,
              HasSubstr("data-label=\"records behind\">1,234<td class=n data-label=\"time behind\">1.5 s"));
  EXPECT_THAT(page, HasSubstr("data-label=\"records behind\">?<td class=n data-label=\"time behind\">–"));
  EXPECT_THAT(page, HasSubstr("60.0 %"));
  EXPECT_THAT(page, HasSubstr("10 (−2)"));
  EXPECT_THAT(status_page({}), HasSubstr("The stream is busy"));
}

TEST(Page, ShowsRequests) {
  PageData data;
  EXPECT_THAT(status_page(data), Not(HasSubstr("id=http")));
  data.http.emplace();
  EXPECT_THAT(status_page(data), Not(HasSubstr("half of them")));
  data.http = http::Counts{.responses = {{200, 90}, {404, 5}, {429, 2}, {503, 3}},
                           .times = {60, 39, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1},
                           .connections = 1234,
                           .waiting = 7,
                           .body_bytes = 1536,
                           .body_bytes_most = 64 << 20};
  std::string page = status_page(data);
  EXPECT_THAT(page, HasSubstr("<dt>answered</dt><dd>100</dd>"));
  EXPECT_THAT(page, HasSubstr("<dt>refused</dt><dd>5</dd>"));
  EXPECT_THAT(page, HasSubstr("<dt>put off (429, 503)</dt><dd>5</dd>"));
  EXPECT_THAT(page, HasSubstr("<dt>half of them within</dt><dd>0.0003 s</dd>"));
  EXPECT_THAT(page, HasSubstr("<dt>99 of 100 within</dt><dd>0.001 s</dd>"));
  EXPECT_THAT(page, HasSubstr("<dt>waiting</dt><dd>7</dd>"));
  EXPECT_THAT(page, HasSubstr("<dt>connections</dt><dd>1,234</dd>"));
  EXPECT_THAT(page, HasSubstr("<dt>bodies in memory</dt><dd>1.5 KiB</dd>"));
  EXPECT_THAT(page, HasSubstr("<dt>at most</dt><dd>64.0 MiB</dd>"));
  data.http->times = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 100};
  page = status_page(data);
  EXPECT_THAT(page, HasSubstr("<dt>half of them within</dt><dd>more than a minute</dd>"));
}

TEST(Page, CountsRelations) {
  PageData data{.now_ms = 9'000'000};
  data.samples = {{.at_ms = 1'000}, {.at_ms = 9'000'000, .documents = 10, .unique = 4, .near = 5}};
  EXPECT_THAT(status_page(data), Not(HasSubstr("unique that")));
  data.samples.back().partial = 1;
  data.samples.back().related[Relation::contained] = 3;
  data.samples.back().related[Relation::shares] = 2;
  const std::string page = status_page(data);
  EXPECT_THAT(page, HasSubstr("<dt>copies of a part</dt><dd>1</dd>"));
  EXPECT_THAT(page, HasSubstr("<dt>dedup ratio</dt><dd>60.0 %</dd>"));
  EXPECT_THAT(page, HasSubstr("<dt>unique that are parts of others</dt><dd>3</dd>"));
  EXPECT_THAT(page, Not(HasSubstr("<dt>unique that have others in them</dt>")));
  EXPECT_THAT(page, HasSubstr("<dt>unique that share a passage</dt><dd>2</dd>"));
}

// The rates cover the last half minute, not the hour.
TEST(Page, ShowsRatesOfNow) {
  PageData data{.now_ms = 3'600'000};
  for (int64_t at = 0; at <= 3'600'000; at += 10'000) {
    const auto n = static_cast<uint64_t>(at / 1000);
    // One document per second for most of the hour, seven per second in the last minute.
    const uint64_t documents = at <= 3'540'000 ? n : 3540 + (n - 3540) * 7;
    data.samples.push_back(
        {.at_ms = at, .documents = documents, .unique = documents / 2, .near = documents - documents / 2});
  }
  const std::string page = status_page(data);
  const std::string now = page.substr(page.find("id=now"), page.find("id=rates") - page.find("id=now"));
  EXPECT_THAT(now, HasSubstr("over the last 30 s"));
  EXPECT_THAT(now, HasSubstr("<dt>documents</dt><dd>7.0</dd>"));
  EXPECT_THAT(now, HasSubstr("<dt>copies</dt><dd>3.5</dd>"));
  EXPECT_THAT(now, HasSubstr("<dt>dedup ratio</dt><dd>50.0 %</dd>"));
  EXPECT_THAT(now, HasSubstr("<dt>rejected</dt><dd>0</dd>"));
}

TEST(Page, NumbersAreForPeople) {
  EXPECT_EQ(page::count(1'234'567), "1,234,567");
  EXPECT_EQ(page::count(999), "999");
  EXPECT_EQ(page::rate(0), "0");
  EXPECT_EQ(page::rate(0.01), "< 0.1");
  EXPECT_EQ(page::rate(16.31), "16.3");
  EXPECT_EQ(page::rate(1234567.8), "1,234,568");
  EXPECT_EQ(page::size(1536), "1.5 KiB");
  PageData data;
  data.lags = {{.topic = "t", .records = 1'000'000, .seconds = 7500}};
  EXPECT_THAT(status_page(data), HasSubstr(">1,000,000<"));
  EXPECT_THAT(status_page(data), HasSubstr(">2 h\n"));
}

// A place ends with the number of the record.
TEST(Page, LongTextsAreCutBetweenCharacters) {
  std::string many;
  for (int i = 0; i < 200; ++i) many += "é";
  EXPECT_EQ(page::shortened(many), many.substr(0, 160) + "…");
  EXPECT_EQ(page::shortened("x" + many), "x" + many.substr(0, 158) + "…");
  EXPECT_EQ(page::shortened_place(many + ":7"), "…" + many.substr(0, 158) + ":7");
  EXPECT_EQ(page::shortened_place(many + ":17"), "…" + many.substr(0, 156) + ":17");
  EXPECT_EQ(page::shortened_place("a:7"), "a:7");
}

TEST(Page, RefreshesItselfUnlessItIsHeld) {
  PageData data;
  EXPECT_THAT(status_page(data), Not(HasSubstr("http-equiv=refresh")));
  data.refresh_s = 30;
  EXPECT_THAT(status_page(data), HasSubstr("<meta http-equiv=refresh content=30>"));
}

TEST(Page, SaysWhyRecordsWereRejected) {
  PageData data{.now_ms = 70'000};
  EXPECT_THAT(status_page(data), Not(HasSubstr("rejected</h2>")));
  data.dead_letters = {{.where = "docs/2/17", .reason = "text: no such field", .at_ms = 60'000}};
  EXPECT_THAT(status_page(data),
              HasSubstr("<td data-label=record>docs/2/17<td data-label=why>text: no such field<td class=n "
                        "data-label=ago>10 s"));
}

TEST(Page, OfAClusterNamesItsCopies) {
  Cluster cluster{.exact = 1, .near = 1, .first_ms = 1'000, .last_ms = 61'000};
  encode_metadata({.source = "t", .offset = 1, .id = "first", .url = "http://a/"}, cluster.original);
  encode_metadata({.source = "t", .offset = 2, .id = "<b>second"}, cluster.members[0].document);
  cluster.members[0].kind = Kind::exact;
  cluster.members[0].similarity_ppm = 1'000'000;
  cluster.members[1].document = "damaged";
  cluster.members[1].similarity_ppm = 900'000;
  cluster.members[1].estimated = true;
  const std::string page = cluster_page("t/0/1", cluster, 121'000);
  EXPECT_THAT(page, HasSubstr("<b>first</b>"));
  EXPECT_THAT(page, HasSubstr("&lt;b&gt;second"));
  EXPECT_THAT(page, HasSubstr("1.000<td data-label=kind>exact"));
  EXPECT_THAT(page, HasSubstr("0.900 (estimated)<td data-label=kind>near"));
  EXPECT_THAT(page, HasSubstr("href=\"/v1/clusters/t%2F0%2F1\""));
  EXPECT_THAT(no_cluster_page("\"><script>"), Not(HasSubstr("<script")));
}

}  // namespace
}  // namespace doppel

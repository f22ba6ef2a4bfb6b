#include "status/page.h"

#include <gmock/gmock.h>

#include "stream/metadata.h"

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
  EXPECT_THAT(page, HasSubstr("<td class=n>1,234<td class=n>1.5"));
  EXPECT_THAT(page, HasSubstr("<td class=n>?<td class=n>–"));
  EXPECT_THAT(page, HasSubstr("60.0 %"));
  EXPECT_THAT(page, HasSubstr("10 (−2)"));
  EXPECT_THAT(status_page({}), HasSubstr("The stream is busy"));
}

}  // namespace
}  // namespace doppel

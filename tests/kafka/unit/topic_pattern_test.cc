#include "kafka/topics.h"

#include <gmock/gmock.h>

namespace doppel::kafka {
namespace {

bool fits(const std::string& expression, const std::string& topic) {
  const absl::StatusOr<TopicPattern> pattern = TopicPattern::compile(expression);
  EXPECT_TRUE(pattern.ok()) << pattern.status();
  return pattern.ok() && pattern->fits(topic);
}

TEST(TopicPattern, FitsFromTheBeginning) {
  EXPECT_TRUE(fits("^crawl-.*", "crawl-news"));
  EXPECT_TRUE(fits("^crawl-", "crawl-news"));
  EXPECT_TRUE(fits("^crawl-[0-9]+$", "crawl-17"));
  EXPECT_FALSE(fits("^crawl-[0-9]+$", "crawl-17b"));
  EXPECT_FALSE(fits("^crawl", "my-crawl"));
  EXPECT_TRUE(fits("^a|b", "b1"));
  EXPECT_FALSE(fits("^a|b", "cb1"));
  EXPECT_TRUE(fits("^(news|blogs)\\.de$", "news.de"));
  EXPECT_FALSE(fits("^(news|blogs)\\.de$", "newsxde"));
}

TEST(TopicPattern, SaysWhatIsWrong) {
  for (const std::string wrong : {"^crawl-(", "^[a", "^a{2,1}"}) {
    const absl::StatusOr<TopicPattern> pattern = TopicPattern::compile(wrong);
    ASSERT_FALSE(pattern.ok()) << wrong;
    EXPECT_THAT(std::string(pattern.status().message()),
                ::testing::StartsWith(wrong + ": not a regular expression: "));
  }
}

}  // namespace
}  // namespace doppel::kafka

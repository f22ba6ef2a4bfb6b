// The rule gives the verdicts in examples/expected.tsv.

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>

#include "oracle/oracle.h"
#include "simdjson.h"

namespace doppel::oracle {
namespace {

TEST(Examples, ExpectedIsWhatTheOracleSays) {
  const std::string folder = DOPPEL_SOURCE_DIR "/examples/";
  std::ifstream news(folder + "news.jsonl"), expected(folder + "expected.tsv");
  Oracle oracle({});
  simdjson::dom::parser parser;
  std::vector<std::string> ids;
  std::string line, wanted, last_date;
  size_t copies = 0;
  while (std::getline(news, line)) {
    simdjson::dom::element document = parser.parse(line);
    ids.emplace_back(document["id"].get_string().value());
    SCOPED_TRACE(ids.back());
    Answer answer = oracle.feed({.text = document["text"].get_string().value()});
    if (answer.original) ++copies;
    ASSERT_TRUE(std::getline(expected, wanted));
    EXPECT_EQ(ids.back() + "\t" + (answer.original ? ids[*answer.original] : "-"), wanted);
    EXPECT_GT(std::abs(answer.best_similarity.value() - 0.8), 0.05);
    std::string date(document["date"].get_string().value());
    EXPECT_GT(date, last_date);
    last_date = date;
    EXPECT_FALSE(document["title"].get_string().value().empty());
    EXPECT_TRUE(document["url"].get_string().value().starts_with("https://"));
  }
  EXPECT_FALSE(std::getline(expected, wanted));
  EXPECT_EQ(ids.size(), 123u);
  EXPECT_EQ(copies, 55u);
}

}  // namespace
}  // namespace doppel::oracle

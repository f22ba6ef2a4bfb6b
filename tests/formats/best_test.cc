// The values that output.best and `scan --best` compare.
#include "formats/best.h"

#include <gtest/gtest.h>

#include "formats/decoder.h"

namespace doppel {
namespace {

std::optional<double> value(const std::string& best, const std::string& json,
                            const std::string& format = "json") {
  const std::string bytes = json + std::string(kRecordPadding, '\0');
  const Record record{.value = std::string_view(bytes).substr(0, json.size())};
  const auto decoder = make_decoder({.format = format, .best = best});
  Document document;
  EXPECT_TRUE(decoder->decode(record, document).ok());
  return Best::parse(best)->value_of(document);
}

TEST(Best, TheLengthIsInCharacters) {
  EXPECT_EQ(value("longest", R"({"text":"Grüße, 世界"})"), 9);
  EXPECT_EQ(value("shortest", "Grüße", "text"), 5);
  EXPECT_EQ(value("longest", R"({"text":""})"), std::nullopt);
}

TEST(Best, TheDateIsThatOfTheDocument) {
  EXPECT_EQ(value("newest", R"({"text":"a","date":"1970-01-01T00:00:02Z"})"), 2000);
  EXPECT_EQ(value("oldest", R"({"text":"a"})"), std::nullopt);
}

TEST(Best, AFieldIsANumberOrATime) {
  EXPECT_EQ(value("score:max", R"({"text":"a","score":-2.5})"), -2.5);
  EXPECT_EQ(value("score:min", R"({"text":"a","score":"17"})"), 17);
  EXPECT_EQ(value("/meta/seen:max", R"({"text":"a","meta":{"seen":"1970-01-02"}})"), 86'400'000);
  for (const char* none :
       {R"({"text":"a"})", R"({"text":"a","score":null})", R"({"text":"a","score":"high"})",
        R"({"text":"a","score":[1,2]})", R"({"text":"a","score":true})"})
    EXPECT_EQ(value("score:max", none), std::nullopt) << none;
}

TEST(Best, AnyValueIsBetterThanNoneAndOfEqualOnesTheEarlierStays) {
  const Best most = *Best::parse("score:max"), least = *Best::parse("score:min");
  EXPECT_TRUE(most.better(2, 1));
  EXPECT_FALSE(most.better(1, 1));
  EXPECT_FALSE(most.better(1, 2));
  EXPECT_TRUE(least.better(1, 2));
  EXPECT_FALSE(least.better(2, 1));
  for (const Best& best : {most, least}) {
    EXPECT_TRUE(best.better(0, std::nullopt));
    EXPECT_FALSE(best.better(std::nullopt, std::nullopt));
    EXPECT_FALSE(best.better(std::nullopt, 0));
  }
}

TEST(Best, OtherWordsAreRefused) {
  for (const char* wrong : {"", "best", "score", ":max", "score:MAX", "longest "})
    EXPECT_FALSE(Best::parse(wrong).ok()) << wrong;
  EXPECT_FALSE(check_format({.best = "score"}).ok());
  EXPECT_TRUE(check_format({.best = "score:max"}).ok());
  EXPECT_NE(Best::parse("longest")->tag(), Best::parse("shortest")->tag());
}

}  // namespace
}  // namespace doppel

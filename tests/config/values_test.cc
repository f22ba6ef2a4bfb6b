#include "config/values.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace doppel {
namespace {

TEST(Millionths, AreExact) {
  EXPECT_EQ(parse_millionths("0.8"), 800'000);
  EXPECT_EQ(parse_millionths(".995"), 995'000);
  EXPECT_EQ(parse_millionths("0.000001"), 1);
  EXPECT_EQ(parse_millionths("0.999999"), 999'999);
  EXPECT_EQ(parse_millionths("1."), 1'000'000);
  EXPECT_EQ(parse_millionths("12"), 12'000'000);
}

TEST(Millionths, RefusesWhatWouldBeRoundedOrGuessed) {
  for (const char* text : {"", ".", "0.8000001", "8e-1", "-0.5", "+1", " 0.8", "0.8 ", "0,8", "80%", "0x1",
                           "nan", "1.2.3", "1234567890"}) {
    EXPECT_EQ(parse_millionths(text), std::nullopt) << text;
  }
}

RC_GTEST_PROP(Millionths, ReadWhatTheyWrite, ()) {
  auto value = static_cast<int64_t>(*rc::gen::inRange<uint64_t>(0, 999'999'999'999'999));
  RC_ASSERT(parse_millionths(write_millionths(value)) == value);
}

TEST(Integers, ReadDigitsAndUnderscores) {
  EXPECT_EQ(parse_integer("0"), 0u);
  EXPECT_EQ(parse_integer("1_000_000"), 1'000'000u);
  EXPECT_EQ(parse_integer("18446744073709551615"), ~uint64_t{0});
  for (const char* text : {"", "_1", "1_", "1__0", "-1", "1.0", "0x10", "18446744073709551616", "1 000"}) {
    EXPECT_EQ(parse_integer(text), std::nullopt) << text;
  }
}

TEST(Sizes, HaveUnits) {
  EXPECT_EQ(parse_size("1000"), 1000u);
  EXPECT_EQ(parse_size("64k"), 65'536u);
  EXPECT_EQ(parse_size("8MiB"), 8u << 20);
  EXPECT_EQ(parse_size("8 MiB"), 8u << 20);
  EXPECT_EQ(parse_size("1MB"), 1'000'000u);
  EXPECT_EQ(parse_size("2G"), uint64_t{2} << 30);
  for (const char* text : {"", "k", "1.5M", "-1k", "8mb", "8 M i B", "9223372036854775807k"}) {
    EXPECT_EQ(parse_size(text), std::nullopt) << text;
  }
  EXPECT_EQ(write_size(8 << 20), "8MiB");
  EXPECT_EQ(write_size(1'000'000), "1MB");
  EXPECT_EQ(write_size(1'000'001), "1000001");
}

RC_GTEST_PROP(Sizes, ReadWhatTheyWrite, (uint32_t value, bool round)) {
  uint64_t bytes = round ? uint64_t{value} * 1024 : value;
  RC_ASSERT(parse_size(write_size(bytes)) == bytes);
}

TEST(Durations, NeedAUnit) {
  EXPECT_EQ(parse_duration("500ms"), 500);
  EXPECT_EQ(parse_duration("90s"), 90'000);
  EXPECT_EQ(parse_duration("15m"), 900'000);
  EXPECT_EQ(parse_duration("12h"), 43'200'000);
  EXPECT_EQ(parse_duration("30d"), 2'592'000'000);
  EXPECT_EQ(parse_duration("2w"), 1'209'600'000);
  for (const char* text : {"", "90", "d", "1.5h", "-1d", "1y", "99999999999999999d"}) {
    EXPECT_EQ(parse_duration(text), std::nullopt) << text;
  }
}

TEST(Lists, AreSplitAtCommas) {
  using Items = std::vector<std::string>;
  EXPECT_EQ(split_list("a, b"), (Items{"a", "b"}));
  EXPECT_EQ(split_list("[a,b]"), (Items{"a", "b"}));
  EXPECT_EQ(split_list(" /a/b "), (Items{"/a/b"}));
  EXPECT_EQ(split_list("a,,b"), (Items{"a", "", "b"}));
  EXPECT_EQ(split_list(""), Items{});
  EXPECT_EQ(split_list("[ ]"), Items{});
}

TEST(Texts, AreQuotedWhereNeeded) {
  EXPECT_EQ(write_text("/var/lib/doppel-1.0"), "/var/lib/doppel-1.0");
  EXPECT_EQ(write_text(""), "\"\"");
  EXPECT_EQ(write_text("null"), "\"null\"");
  EXPECT_EQ(write_text("a \"b\"\\\n"), "\"a \\\"b\\\"\\\\\\x0a\"");
  EXPECT_EQ(write_list({"a", "b c"}), "[a, \"b c\"]");
}

TEST(Texts, AreShownInOneLine) {
  EXPECT_EQ(shown("a\nb"), "a\\x0ab");
  EXPECT_EQ(shown(std::string(100, 'x')), std::string(60, 'x') + "...");
}

}  // namespace
}  // namespace doppel

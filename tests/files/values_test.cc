// JSON over several lines and in arrays, against a simple, slow reader.
#include <gmock/gmock.h>
#include <rapidcheck/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <thread>

#include "files/files_testing.h"
#include "files/read/value_reader.h"

namespace doppel {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::string in_one_line(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

// A file that is written value by value, and the values to expect.
struct Written {
  std::string text;
  std::vector<InputLine> values;
};

std::string space() {
  std::string out;
  for (int i = *rc::gen::inRange(0, 4); i > 0; --i) out += *rc::gen::element(' ', '\n', '\t', '\r');
  return out;
}

std::string string_of() {
  std::string out = "\"";
  for (int i = *rc::gen::inRange(0, 12); i > 0; --i)
    out += *rc::gen::element<std::string>("a", "\\\\", "\\\"", "{", "}", "[", "]", ",", "\\n", "é", ":",
                                          "\\u005c");
  return out + "\"";
}

std::string value_of(int depth) {
  switch (*rc::gen::inRange(0, depth > 3 ? 3 : 5)) {
    case 0:
      return string_of();
    case 1:
      return *rc::gen::element<std::string>("1", "-2.5e3", "true", "null");
    case 2:
      return "{}";
    case 3: {
      std::string out = "[";
      for (int i = *rc::gen::inRange(0, 3); i > 0; --i)
        out += space() + value_of(depth + 1) + space() + (i > 1 ? "," : "");
      return out + "]";
    }
    default: {
      std::string out = "{";
      for (int i = *rc::gen::inRange(1, 4); i > 0; --i)
        out += space() + string_of() + space() + ":" + space() + value_of(depth + 1) + space() +
               (i > 1 ? "," : "");
      return out + "}";
    }
  }
}

// Begins in a way that shows its kind.
Written written() {
  Written out;
  const bool array = *rc::gen::arbitrary<bool>();
  out.text = array ? "[\n" : "";
  const int count = *rc::gen::inRange(1, 30);
  for (int i = 0; i < count; ++i) {
    std::string value = i == 0 ? "{\n\"a\": " + value_of(0) + "}" : value_of(0);
    if (!array && i > 0) value.insert(0, "{\"b\":").append("}");
    const auto line = static_cast<uint64_t>(std::count(out.text.begin(), out.text.end(), '\n')) + 1;
    out.values.push_back({in_one_line(value), out.text.size(), line});
    out.text += value + space() + (array && i + 1 < count ? "," : "") + space();
  }
  out.text += array ? "]" + space() : "";
  return out;
}

FilesSourceOptions small(const std::string& path) {
  return {.paths = {path},
          .batch_records = *rc::gen::inRange<size_t>(1, 8),
          .batch_bytes = *rc::gen::inRange<size_t>(1, 200),
          .buffer_bytes = *rc::gen::inRange<size_t>(1, 80)};
}

RC_GTEST_PROP(Values, AreThoseThatWereWritten, ()) {
  TemporaryDirectory dir;
  const Written w = written();
  const bool packed = *rc::gen::arbitrary<bool>();
  const std::string path = dir / (packed ? "a.json.gz" : "a.json");
  write_file(path, packed ? gz(w.text) : w.text);
  const FilesSourceOptions options = small(path);
  const Taken all = take_all(*must_open(options));
  RC_ASSERT(all.problems.empty());
  RC_ASSERT(all.lines == w.values);
  // Stops after any batch, and continues.
  for (size_t i = 0; i < all.positions.size(); ++i) {
    const Taken rest = take_all(*must_open(options, all.positions[i]));
    RC_ASSERT(rest.problems.empty());
    RC_ASSERT(rest.lines == std::vector<InputLine>(w.values.begin() + static_cast<ptrdiff_t>(all.counts[i]),
                                                   w.values.end()));
  }
}

// Any bytes, in any pieces: the same values, and no byte in two of them.
RC_GTEST_PROP(Values, SplitTheSameInPieces, ()) {
  const auto text = *rc::gen::container<std::string>(
      rc::gen::element('{', '}', '[', ']', '"', '\\', ',', ' ', '\n', 'a', '1', ':', '\xef'));
  const auto split = [&](const std::vector<size_t>& ends) {
    std::vector<std::pair<size_t, size_t>> out;
    JsonSplitter splitter;
    size_t at = 0, begin = 0;
    for (const size_t end : ends) {
      for (;;) {
        const size_t before = at;
        const auto found = splitter.next(std::string_view(text).substr(0, end), at);
        RC_ASSERT(at >= before && at <= end);
        if (found == JsonSplitter::Found::nothing) break;
        if (found == JsonSplitter::Found::begin) begin = at;
        if (found == JsonSplitter::Found::end) out.emplace_back(begin, at);
      }
      RC_ASSERT(at == end);
    }
    if (splitter.in_value()) out.emplace_back(begin, splitter.may_end());
    return out;
  };
  std::vector<size_t> every(text.size());
  for (size_t i = 0; i < every.size(); ++i) every[i] = i + 1;
  RC_ASSERT(split({text.size()}) == split(every));
}

Taken read(const std::string& text, const std::string& name = "a.json") {
  TemporaryDirectory dir;
  write_file(dir / name, text);
  return take_all(*must_open({.paths = {dir / name}}));
}

std::vector<std::string> texts(const Taken& taken) {
  std::vector<std::string> out;
  for (const InputLine& line : taken.lines) out.push_back(line.value);
  return out;
}

TEST(Values, OfAFileThatEndsTooEarly) {
  Taken taken = read("[\n{\"a\": 1},\n{\"b\": \"]}");
  EXPECT_THAT(texts(taken), ElementsAre("{\"a\": 1}"));
  ASSERT_EQ(taken.problems.size(), 1);
  EXPECT_THAT(taken.problems[0].message, HasSubstr("a.json: line 3, byte 12"));
  EXPECT_THAT(taken.problems[0].message, HasSubstr("ends within the value"));
  taken = read("[{\"a\": 1},\n{\"b\": 2}\n");
  EXPECT_THAT(texts(taken), ElementsAre("{\"a\": 1}", "{\"b\": 2}"));
  ASSERT_EQ(taken.problems.size(), 1);
  EXPECT_THAT(taken.problems[0].message, HasSubstr("\"]\" is missing"));
}

TEST(Values, WhatIsNoObjectIsARecordByItself) {
  EXPECT_THAT(texts(read("\xef\xbb\xbf[{\"a\":1}, 7, \"x\\\"]\", [1, [2]], null, {\"b\":2}] [{\"c\":3}]\n9")),
              ElementsAre("{\"a\":1}", "7", "\"x\\\"]\"", "[1, [2]]", "null", "{\"b\":2}", "{\"c\":3}", "9"));
  EXPECT_THAT(texts(read("{\n\"a\":1\n} } {\n\"b\":2}")), ElementsAre("{ \"a\":1 }", "}", "{ \"b\":2}"));
}

TEST(Values, OneLongerThanALineMayBeIsLeftOut) {
  TemporaryDirectory dir;
  write_file(dir / "a.json", "[\n{\"a\": 1},\n{\"b\": \"" + std::string(500, '\n') + "\"},\n{\"c\": 1}]");
  const Taken taken =
      take_all(*must_open({.paths = {dir / "a.json"}, .max_line_bytes = 100, .buffer_bytes = 16}));
  EXPECT_THAT(texts(taken), ElementsAre("{\"a\": 1}", "{\"c\": 1}"));
  EXPECT_EQ(taken.lines[1].line, 504);
  ASSERT_EQ(taken.problems.size(), 1);
  EXPECT_THAT(taken.problems[0].message, HasSubstr("a value of 509 bytes"));
}

TEST(Values, OfAFileThatHasGrown) {
  TemporaryDirectory dir;
  const std::string path = dir / "a.json";
  // The beginning of a file identifies it.
  const std::string first = "{\n\"a\": \"" + std::string(5000, 'x') + "\"}\n";
  write_file(path, first);
  const Taken before = take_all(*must_open({.paths = {path}}));
  ASSERT_EQ(before.lines.size(), 1);
  auto again = open_files_source({.paths = {path}}, before.positions.back());
  ASSERT_TRUE(again.ok());
  EXPECT_THAT(take_all(**again).lines, IsEmpty());
  write_file(path, "{\n\"b\": 2\n}\n", true);
  const Taken after = take_all(*must_open({.paths = {path}}, before.positions.back()));
  EXPECT_THAT(after.lines, ElementsAre(InputLine{"{ \"b\": 2 }", first.size(), 3}));
}

TEST(Values, LinesOfJsonAreNone) {
  const std::string lines = "{\"a\":1}\n{\"b\":2}\n[1]\n";
  EXPECT_EQ(read(lines).lines, split_lines(lines));
  const std::string cut = "{\"a\":\n{\"b\":2}\n";
  EXPECT_EQ(read(cut).lines, split_lines(cut));
}

}  // namespace
}  // namespace doppel

// Keys of URLs, compared with the keys of the package surt (tools/make-surt-golden).
#include "formats/warc/cdxj.h"

#include <gtest/gtest.h>
#include <simdjson.h>

#include <fstream>
#include <string>

namespace doppel {
namespace {

TEST(Surt, KeysAreThoseOfThePackage) {
  std::ifstream file(DOPPEL_SOURCE_DIR "/tests/formats/data/surt.jsonl");
  simdjson::dom::parser parser;
  int urls = 0, wrong = 0;
  for (std::string line; std::getline(file, line); ++urls) {
    const simdjson::padded_string json(line);
    const simdjson::dom::array pair = parser.parse(json).get_array();
    const std::string_view url = pair.at(0).get_string(), key = pair.at(1).get_string();
    const std::string ours = surt(url);
    if (ours == key || ++wrong > 30) continue;
    ADD_FAILURE() << line << "\nours: " << ours;
  }
  EXPECT_GT(urls, 3000);
  EXPECT_EQ(wrong, 0);
}

std::string repeated(std::string_view text, size_t times) {
  std::string out;
  for (size_t i = 0; i < times; ++i) out += text;
  return out;
}

// The time for a URL of the largest possible length is proportional to its length.
TEST(Surt, LongUrls) {
  constexpr size_t kTimes = 500'000;
  EXPECT_EQ(surt("http://e.example/%" + repeated("25", kTimes)), "example,e)/%25");
  EXPECT_EQ(surt("http://\xc3\xbc." + repeated("a.", kTimes) + "example/"),
            "example" + repeated(",a", kTimes) + ",xn--tda)/");
  // Text that begins like a session id but is not one.
  const std::string path = repeated("/(s(0123456789abcdefghijklmn))", 50'000),
                    query = repeated("cfid=", 200'000);
  EXPECT_EQ(surt("http://e.example" + path + "/page"), "example,e)" + path + "/page");
  EXPECT_EQ(surt("http://e.example/?" + query), "example,e)/?" + query);
}

TEST(Surt, EscapesThatMakeEscapes) {
  EXPECT_EQ(surt("http://e.example/%%341%2%35%34%32"), "example,e)/ab");
  EXPECT_EQ(surt("http://e.example/%4%zz%"), "example,e)/%254%25zz%25");
}

TEST(Surt, BytesThatAreNoUtf8) {
  EXPECT_EQ(surt("http://example.com/\xff?\xe9"), "com,example)/%ff?%e9");
  EXPECT_EQ(surt("http://b\xffx\xc3\xbc.example/"), surt("http://bx\xc3\xbc.example/"));
}

}  // namespace
}  // namespace doppel

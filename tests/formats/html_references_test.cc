#include "formats/html/html_tokens.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <fstream>

#include "base/status.h"
#include "formats/html/html.h"

namespace doppel {
namespace {

std::string visible(std::string_view html) {
  HtmlExtractor extractor;
  auto text = extractor.text(html, Extract::visible);
  return text.ok() ? std::string(*text) : std::string(std_sv(text.status().message()));
}

// All names of the standard with their meanings (Python's html.entities.html5).
TEST(References, EveryNameOfTheStandard) {
  std::ifstream in(std::string(DOPPEL_SOURCE_DIR) + "/tests/formats/data/html/names.tsv");
  std::string name, text;
  int count = 0;
  HtmlExtractor extractor;
  while (std::getline(in, name, '\t') && std::getline(in, text)) {
    ++count;
    std::string expected;
    for (size_t i = 0; i + 1 < text.size(); i += 2)
      expected.push_back(static_cast<char>(std::stoi(text.substr(i, 2), nullptr, 16)));
    EXPECT_EQ(visible("<p>a&" + name + ".</p>"), "a" + expected + ".") << name;
  }
  EXPECT_EQ(count, 2229);  // less those of a tab and a line feed, which are white space
}

TEST(References, AsBrowsersReadThem) {
  const std::pair<const char*, const char*> cases[] = {
      {"caf&eacute au lait", "caf\u00e9 au lait"},
      {"caf&eacutes", "caf\u00e9s"},
      {"&notit; &notin; &not;", "\u00acit; \u2209 \u00ac"},
      {"Bo&#154;ko &#x80; &#150 &#159;", "Bo\u0161ko \u20ac \u2013 \u0178"},
      {"a&#0;b&#xd800;c&#1114112;d&#99999999999;", "a\ufffdb\ufffdc\ufffdd\ufffd"},
      {"AT&T &unknown; & &; &#; &#x; &lstro;", "AT&T &unknown; & &; &#; &#x; &lstro;"},
      {"&lstrok;&ccaron;&lt;b&gt;&ltb&gt &amp;lt; &ampx", "\u0142\u010d<b><b> &lt; &x"},
      {"&lang;&rang;&Lt;&nvlt;", "\u27e8\u27e9\u226a<\u20d2"},
      {"<p title='&quot x'>y</p>", "y"},
      {"<p title=&gt>y</p>", "y"},
      {"&quot", "\""},
      {"&", "&"},
      {"&#", "&#"},
      {"&#128", "\u20ac"},
  };
  for (const auto& [html, text] : cases) EXPECT_EQ(visible(html), text) << html;
}

TEST(References, InAnAddressOnlyThoseWithASemicolonCount) {
  const std::pair<const char*, const char*> cases[] = {
      {"&copy;", "\u00a9"}, {"&copy=", ""},       {"&copyx", ""},
      {"&copy", "\u00a9"},  {"&copy-", "\u00a9"}, {"&#xe9", "\u00e9"},
  };
  for (const auto& [text, expected] : cases) {
    std::string_view out;
    std::array<char, 4> buffer{};
    const size_t length = resolve_reference(text, true, out, buffer);
    EXPECT_EQ(length == 0 ? std::string_view() : out, expected) << text;
  }
}

// Data in scripts stays unchanged.
TEST(References, ThereAreNoneInScripts) {
  const std::string page = "<script type=application/ld+json>{\"articleBody\": \"a &quot;b&quot; " +
                           std::string(400, 'x') + "\"}</script><p>Loading";
  HtmlExtractor extractor;
  auto text = extractor.text(page, Extract::main);
  ASSERT_TRUE(text.ok());
  EXPECT_EQ(*text, "a \"b\" " + std::string(400, 'x'));
}

}  // namespace
}  // namespace doppel

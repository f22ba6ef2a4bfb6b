#include "formats/html/html_scripts.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "formats/html/html.h"

namespace doppel {
namespace {

constexpr std::string_view kTitle = "Old maps of the coast – The Paper";
// The article as markup, and as a reader sees it.
std::string markup() {
  std::string out = "<div class=\"body\">";
  for (int i = 0; i < 6; ++i)
    out += fmt::format("<p>Part {}: a monk drew the coast “from Malmö” to Brest, and nobody knows why.\n</p>",
                       i);
  return out + "</div>";
}
std::string seen() {
  HtmlExtractor extractor;
  return std::string(extractor.text(markup(), Extract::visible).value());
}

enum class Escapes { json, hex, unicode };
std::string literal(std::string_view text, Escapes how = Escapes::json) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += std::string("\\") + c;
    } else if (c == '\n') {
      out += "\\n";
    } else if ((c == '<' || c == '>') && how != Escapes::json) {
      out += how == Escapes::hex ? fmt::format("\\x{:02X}", c) : fmt::format("\\u{:04x}", c);
    } else {
      out += c;
    }
  }
  return out + '"';
}
std::string state(const std::string& html_literal, std::string_view title = "Old maps of the coast") {
  return fmt::format(R"({{"id":7,"article":{{"title":"{}","lead":null,"html":{}}},"ads":["a","b"]}})", title,
                     html_literal);
}
std::string page(std::string_view script, std::string_view title = kTitle) {
  return fmt::format("<!DOCTYPE html><title>{}</title><body><div id=root></div><script>{}</script>", title,
                     script);
}
std::string main_of(std::string_view html, TextSource source) {
  HtmlExtractor extractor;
  std::string text(extractor.text(html, Extract::main).value());
  EXPECT_EQ(extractor.source(), source) << html;
  return text;
}

TEST(ScriptMarkup, IsTheTextOfAPageWithoutAnyOther) {
  for (const Escapes how : {Escapes::json, Escapes::hex, Escapes::unicode}) {
    const std::string object = state(literal(markup(), how));
    for (const std::string& script :
         {"window.__STATE__ = " + object + ";", "push({'a': '\"', \"b\": \"\\\\\"});x.push(" + object + ")",
          // a string of JSON, as frameworks send pieces of a page
          "self.next.push([1," + literal("7:[\"$\",\"article\",null," + object + "]\n") + "])"})
      EXPECT_EQ(main_of(page(script), TextSource::data), seen()) << script;
  }
  const std::string json = "<title>" + std::string(kTitle) + "</title><script type=application/json>" +
                           state(literal(markup())) + "</script><div id=app></div>";
  EXPECT_EQ(main_of(json, TextSource::data), seen());
}

TEST(ScriptMarkup, OfSeveralIsTheLongestOfAScriptThatNamesTheTitle) {
  std::string longer = markup();
  longer.insert(longer.size() - 6, "<p>We and our partners store cookies on your device, all of them.</p>");
  const std::string article = state(literal(markup())), dialog = state(literal(longer), "Cookies");
  EXPECT_EQ(main_of(page("a=" + article + "</script><script>b=" + dialog), TextSource::data), seen());
  const std::string shorter = "<p>Less.</p><p>" + std::string(400, 'x') + "</p>";
  EXPECT_EQ(main_of(page("a=[" + literal(shorter) + "," + article + "]"), TextSource::data), seen());
  for (const std::string& none :
       {page("b=" + dialog), page("a=" + article, ""), page("a=" + article, "The Paper"),
        page("a=" + state(literal("<p>" + std::string(900, 'x') + "</p>"))),  // one paragraph
        page("a=" + state(literal("<p>Too</p><p>short</p>"))), page("a=" + article.substr(0, 500)),
        page("a=`" + markup() + "`")})
    EXPECT_EQ(main_of(none, TextSource::fallback), "") << none;
}

TEST(ScriptMarkup, IsNotLookedAtWhereThereIsAText) {
  std::string text;
  for (int i = 0; i < 5; ++i)
    text += fmt::format("<p>Section {}. The harbour was built before the town was.</p>", i);
  EXPECT_THAT(main_of(page("a=" + state(literal(markup()))) + text, TextSource::page),
              ::testing::Not(::testing::HasSubstr("monk")));
}

TEST(ScriptMarkup, EscapesThatAreBrokenTakeNothingElse) {
  ScriptMarkup scripts;
  std::string long_enough = "<p>x</p><p>Old maps of the coast" + std::string(400, '.');
  EXPECT_EQ(scripts.find(page("\"" + long_enough + R"(\ud83d\ude00 \ud83d \u12 \xg1 \/ \u0000")")),
            long_enough + "\xf0\x9f\x98\x80 \xef\xbf\xbd 12 g1 / \xef\xbf\xbd");
  EXPECT_EQ(scripts.find(page("\"" + long_enough + "\\")), "");
  EXPECT_EQ(scripts.find(""), "");
}

// Each step is a byte: three strings in one another are read three times.
TEST(ScriptMarkup, WorkGrowsWithThePage) {
  for (const char* part :
       {"<p>", "\"<p>", "<p \\\"", "\\\"<p>", "\\\\\\\\\"<p ", "\"\\\"<p>\\\"\"", "\\u003cp "}) {
    std::string script;
    while (script.size() < 400'000) script += part;
    ScriptMarkup scripts;
    (void)scripts.find(page("\"" + script));
    EXPECT_LE(scripts.steps(), 8 * script.size()) << part;
  }
}

}  // namespace
}  // namespace doppel

#include "formats/html.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "base/status.h"

namespace doppel {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string visible(std::string_view html) {
  HtmlExtractor extractor;
  auto text = extractor.text(html, Extract::visible);
  return text.ok() ? std::string(*text) : std::string(std_sv(text.status().message()));
}
std::string main_of(std::string_view html) {
  HtmlExtractor extractor;
  auto text = extractor.text(html, Extract::main);
  return text.ok() ? std::string(*text) : std::string(std_sv(text.status().message()));
}

TEST(Visible, WhatAReaderSees) {
  const std::pair<const char*, const char*> cases[] = {
      {"<html><head><title>T</title><style>p{}</style></head><body><p>One</p><p>two</p></body></html>",
       "One\ntwo"},
      {"a<b>b</b>c <i>d</i>", "abc d"},
      {"<p>x<script>var a = '<p>no</p>';</script>y</p>", "xy"},
      {"<p>x<!-- no --><noscript>no</noscript><template>no</template>y", "xy"},
      {"<div hidden>no<p>no</p></div><p>yes", "yes"},
      {"<div style='color:red; Display : NONE'>no</div>yes", "yes"},
      {"<div style='visibility: hidden'>no <b>no</b></div>yes", "yes"},
      {"<div style='display:block'>yes</div>", "yes"},
      {"a&nbsp;b &amp; &lt;c&gt; &eacute; &#233; &#x4e2d;",
       "a\xc2\xa0"
       "b & <c> \xc3\xa9 \xc3\xa9 \xe4\xb8\xad"},
      {"<table><tr><td>a</td><td>b</td></tr><tr><td>c</td></tr></table>", "a b\nc"},
      {"one<br>two<hr>three", "one\ntwo\nthree"},
      {"<ul><li>a<li>b</ul>c", "a\nb\nc"},
      {"<p>  many \n\t spaces  </p>", "many spaces"},
      {"<select><option>a<option>b</select>", "a b"},
      {"no tags at all", "no tags at all"},
      {"", ""},
      {"<p>unclosed <b>bold", "unclosed bold"},
      {"</div></p>x", "x"},
      {"<P>UPPER<SCRIPT>no</SCRIPT></P>", "UPPER"},
      {"<p>a\xe4\xb8\xad</p>", "a\xe4\xb8\xad"},
      {"<unknown-element>x</unknown-element>y", "xy"},
      {"<input type=hidden value=no>yes<img alt='no'>", "yes"},
      {"<iframe>no</iframe><object>no</object>yes", "yes"},
  };
  for (const auto& [html, text] : cases) EXPECT_EQ(visible(html), text) << html;
  EXPECT_EQ(visible(std::string_view("a\0b", 3)), "a b");
}

// libxml2 ignores these end tags while a div is open inside: all that follows would be hidden.
TEST(Visible, WhatIsNotSeenEndsWithItsEndTag) {
  for (const char* name : {"noscript", "iframe", "template", "object", "video", "audio", "canvas", "title",
                           "noframes", "noembed", "datalist", "embed"}) {
    const std::string page = fmt::format("<p>a</p><{0}><div></{0}><p>lost</p>", name);
    EXPECT_EQ(visible(page), "a\nlost") << page;
    const std::string more = fmt::format("<p>a<{0} x='</{0}>'><ul><li><p><b></{0} ><p>b<{0}/><p>c", name);
    EXPECT_THAT(visible(more), HasSubstr("b\nc")) << more;
  }
  EXPECT_EQ(visible("<object>1<object>2<div></object>3</object>4"), "4");
  EXPECT_EQ(visible("<nav hidden><div></nav><p>b"), "b");
  EXPECT_EQ(visible("<div>a<script>x = '</div>'; y = '<p>';</script>b</div>c"), "ab\nc");
  EXPECT_EQ(visible("<div>a<embed src=x>b<wbr>c<source>d</div>e"), "abcd\ne");
}

TEST(Visible, AnEndTagReachesAsFarAsInABrowser) {
  EXPECT_EQ(visible("<div hidden>no<table><tr><td></div>no</td></tr></table>no</div>yes"), "yes");
  EXPECT_EQ(visible("<ul hidden><li>no<ul><li>no</ul></li>no</ul>yes"), "yes");
  EXPECT_EQ(visible("<section hidden><div>no</p></b>no</section>yes</div>yes"), "yesyes");
}

TEST(Visible, AnExtractorForgetsThePageBefore) {
  HtmlExtractor extractor;
  ASSERT_TRUE(extractor.text("<div hidden><p>left open", Extract::visible).ok());
  EXPECT_EQ(*extractor.text("<p>x", Extract::visible), "x");
  ASSERT_FALSE(extractor
                   .text(
                       std::string(4000, '<') +
                           [] {
                             std::string deep;
                             for (int i = 0; i < 1000; ++i) deep += "<div>";
                             return deep;
                           }(),
                       Extract::main)
                   .ok());
  EXPECT_EQ(*extractor.text("<p>y", Extract::visible), "y");
}

std::string repeated(std::string_view part, int times) {
  std::string out;
  for (int i = 0; i < times; ++i) out += part;
  return out;
}

// Each of these takes minutes where work grows with the square of the page.
TEST(Bombs, EndSoonOrAreRefused) {
  std::string attributes = "<div ";
  for (int i = 0; i < 300'000; ++i) attributes += fmt::format("a{}=1 ", i);
  EXPECT_EQ(visible(attributes + ">x"), "x");
  EXPECT_THAT(visible(repeated("<div>", 1'000'000)), HasSubstr("more than 512 deep"));
  EXPECT_THAT(visible(repeated("<table><tr><td>", 100'000)), HasSubstr("more than 512 deep"));
  EXPECT_THAT(visible(repeated("<a>", 1'100'000)), HasSubstr("more than 1,000,000 elements"));
  EXPECT_EQ(visible(repeated("&amp;", 500'000)).size(), 500'000u);
  EXPECT_EQ(visible(repeated("<span>", 400) + repeated("</i>", 200'000)), "");
  EXPECT_EQ(main_of(repeated("<p>x", 200'000)).size(), 399'999u);
  EXPECT_EQ(visible(repeated("<!--", 200'000)), visible(repeated("<!--", 200'000)));
  EXPECT_EQ(visible(repeated("<", 500'000)).size(), 500'000u);
  EXPECT_LT(visible(repeated("<a href=\"", 200'000)).size(), 2'000'000u);
}

// Steps are what is looked at besides libxml2's own work: as many for each byte on a long page as on a short
// one.
TEST(Bombs, WorkGrowsWithThePage) {
  for (const char* part :
       {"<noscript><div>", "<iframe>x", "<template><p>", "<object><div></b>", "<video></div>",
        "<div><noscript></div>", "<title><div>", "<nav><div></nav>", "<a href=x><div></a>", "<p><span></p>",
        "<table><tr><td></div>", "</noscript>", "</noscript", "</ a", "<embed>", "<!-- </div> --></p>",
        "<textarea></textarea>", "<svg></iframe>"}) {
    double per_byte[2] = {0, 0};
    HtmlExtractor extractor;
    for (int large : {0, 1}) {
      const std::string page = "<body>" + repeated(part, large != 0 ? 80'000 : 8'000);
      for (Extract what : {Extract::visible, Extract::main}) {
        (void)extractor.text(page, what);
        per_byte[large] = static_cast<double>(extractor.steps()) / static_cast<double>(page.size());
      }
    }
    // An end tag may look at as many elements as may be open.
    EXPECT_LT(per_byte[1], 150) << part;
    EXPECT_LT(per_byte[1], per_byte[0] * 1.5 + 1) << part;
  }
}

constexpr std::string_view kArticle =
    "The exhibition of old maps opened on Monday morning in the town hall, and more people came than anybody "
    "had expected. The oldest of the sheets was drawn five hundred years ago by a monk who never left his "
    "valley, and yet the coast on it is nearly right.";

TEST(Main, DropsWhatSurroundsTheText) {
  const std::string page = fmt::format(
      R"(<body class="has-sidebar"><header><a href="/">Site</a> The best news of the valley, every day at noon</header>
<div class="mainNav"><ul><li><a href=1>News</a><li><a href=2>Sport</a></ul></div>
<div id="content"><h1>Old maps</h1><p>{0}</p><p>{0}</p><p>Short but between.</p><p>{0}</p></div>
<div class="related-links"><p>{0} Related.</p></div>
<div><a href=3>Print</a> <a href=4>Next page</a> <a href=5>Share this page with your friends</a></div>
<footer>Copyright 2024, all rights reserved, and a long line of legal text which nobody reads because {0}</footer>)",
      kArticle);
  const std::string text = main_of(page);
  EXPECT_THAT(text, testing::StartsWith("The exhibition"));
  EXPECT_THAT(text, HasSubstr("Short but between."));
  for (const char* boilerplate : {"Sport", "Related", "Print", "Copyright", "best news"}) {
    EXPECT_THAT(text, Not(HasSubstr(boilerplate)));
  }
}

TEST(Main, AnArticleThatSaysSoIsAllThereIs) {
  const std::string page = fmt::format(
      "<div><p>{0} Teaser.</p></div><article><header><h2>Title</h2></header><p>{0}</p></article>", kArticle);
  EXPECT_THAT(main_of(page), Not(HasSubstr("Teaser")));
  EXPECT_THAT(main_of(page), HasSubstr("The exhibition"));
}

// What the marks of elements are worth depends on where the text is.
TEST(Main, BoilerplateThatHoldsTheTextIsNone) {
  const std::string page = fmt::format(
      "<form class=widget><div class=menu><a href=1>News of the day and of the whole week</a></div>"
      "<div><p>{0}</p><p>{0}</p></div></form><footer>All rights are with us, as they always were.</footer>",
      kArticle);
  EXPECT_EQ(main_of(page), fmt::format("{0}\n{0}", kArticle));
  const std::string both = fmt::format(
      "<div class=sidebar><p>{0} Beside.</p><p>{0} Beside.</p></div><div><p>{0}</p><p>{0}</p></div>",
      kArticle);
  EXPECT_EQ(main_of(both), fmt::format("{0}\n{0}", kArticle));
}

TEST(Main, CommentsOfReadersAreLeftOutUnlessThereIsNothingElse) {
  const std::string comments =
      fmt::format("<ol class=commentlist><li>{0} First.<li>{0} Second.</ol>", kArticle);
  EXPECT_THAT(main_of(fmt::format("<div><p>{0}</p><p>{0}</p></div>{1}", kArticle, comments)),
              Not(HasSubstr("First.")));
  EXPECT_THAT(main_of("<h1>Forum</h1>" + comments), HasSubstr("First."));
}

TEST(Main, TheLeadIsPartOfTheTextWhereverItIs) {
  const std::string page = fmt::format(
      "<header><h1>Old maps</h1><div class=teaser>Five hundred years ago a monk drew the coast.</div>"
      "<div class=author>By a woman who has written for this paper for years</div></header>"
      "<div class=articleBody><p>{0}</p><p>{0}</p></div>",
      kArticle);
  EXPECT_EQ(main_of(page), fmt::format("Five hundred years ago a monk drew the coast.\n{0}\n{0}", kArticle));
}

std::string page_with_data(std::string_view json, std::string_view body = "<div id=app></div><p>Loading") {
  return fmt::format("<head><script type='application/ld+json'>{}</script></head><body>{}</body>", json,
                     body);
}

TEST(Main, APageWithoutATextHasThatOfItsData) {
  const std::string body = fmt::format("{0} {0}", kArticle);
  const std::string article = R"({"@type": "NewsArticle", "articleBody": ")" + body + "\"}";
  for (const std::string& json : {article, "[" + article + "]", R"({"@graph": [{"x": 1}, )" + article + "]}",
                                  R"({"mainEntity": )" + article + R"(, "articleBody": "short"})",
                                  // As it is found: line feeds within strings.
                                  R"({"description": "one
two", "articleBody": ")" + body + "\"}"})
    EXPECT_EQ(main_of(page_with_data(json)), body) << json;
  EXPECT_EQ(main_of("<script type=\" Application/LD+JSON; charset=utf-8\">" + article + "</script>"), body);
  EXPECT_EQ(main_of("<script type=application/ld+json>{broken</script>" + page_with_data(article)), body);
  // Markup and entities in it.
  EXPECT_EQ(main_of(page_with_data(R"({"articleBody": "<p>)" + std::string(kArticle) +
                                   R"( &amp; more<\/p><p>)" + std::string(kArticle) + "\"}")),
            fmt::format("{0} & more\n{0}", kArticle));
  // A reader does not see it.
  EXPECT_EQ(visible(page_with_data(article)), "Loading");
  // What of the page was left out for it.
  HtmlExtractor extractor;
  const std::string page = page_with_data(article);
  ASSERT_TRUE(extractor.text(page, Extract::main).ok());
  ASSERT_EQ(extractor.pieces().size(), 1);
  EXPECT_EQ(extractor.pieces()[0].text, "Loading");
  EXPECT_EQ(extractor.pieces()[0].fate, BlockFate::little);
}

TEST(Main, DataIsNotLookedAtWhereThereIsAText) {
  const std::string text = fmt::format("<article><p>{0}</p><p>{0}</p></article>", kArticle);
  const std::string other = R"({"articleBody": ")" + std::string(1000, 'x') + "\"}";
  EXPECT_EQ(main_of(page_with_data(other, text)), fmt::format("{0}\n{0}", kArticle));
  for (const char* json : {R"({"articleBody": "too short"})", R"({"articleBody": 7})", "{", "", "[]",
                           R"({"headline": "articleBody"})"})
    EXPECT_EQ(main_of(page_with_data(json)), "Loading") << json;
  const std::string deep = std::string(1000, '[') + other + std::string(1000, ']');
  EXPECT_EQ(main_of(page_with_data(deep)), "Loading");
  EXPECT_EQ(main_of("<script type=text/javascript>" + other + "</script><p>Loading"), "Loading");
  HtmlExtractor extractor;  // nothing of one page is left for the next
  ASSERT_TRUE(extractor.text(page_with_data(other), Extract::main).ok());
  EXPECT_EQ(*extractor.text("<p>Loading", Extract::main), "Loading");
}

TEST(Main, CaptionsAndLinksToOtherPagesAreLeftOut) {
  const std::string page = fmt::format(
      "<article><p>{0}</p><figure><img><figcaption>The monk at work, as painted by his brother.</figcaption>"
      "</figure><p>Read on: <a href=x>How the brother learned to paint in only four weeks</a></p><p>{0}</p>"
      "<p>Short but here.</p></article>",
      kArticle);
  EXPECT_EQ(main_of(page), fmt::format("{0}\n{0}", kArticle));
}

TEST(Main, ALinkEndsWithItsEndTag) {
  const std::string page =
      fmt::format("<div><a href=x><div>More</a></div><p>{0}</p><p>{0}</p></div>", kArticle);
  EXPECT_EQ(main_of(page), fmt::format("{0}\n{0}", kArticle));
  EXPECT_EQ(main_of(fmt::format("<a name=top><p>{0}</p><p>{0}</p>", kArticle)),
            fmt::format("{0}\n{0}", kArticle));
}

TEST(Main, PiecesSayWhatBecameOfEachBlock) {
  HtmlExtractor extractor;
  const std::string page = fmt::format(
      "<nav><a href=1>News</a></nav><h1>Old maps</h1><article><p>{0}</p><p>{0}</p></article><p>Nearby, there "
      "is more.</p>",
      kArticle);
  ASSERT_TRUE(extractor.text(page, Extract::main).ok());
  std::string fates;
  for (const HtmlPiece& piece : extractor.pieces()) fates += std::string(fate_name(piece.fate)) + " ";
  EXPECT_EQ(fates, "boilerplate outside taken taken outside ");
}

TEST(Main, IsAllWhereLittleWouldRemain) {
  const std::string page = "<nav><a href=1>a</a></nav><p>Few words.</p>";
  EXPECT_EQ(main_of(page), visible(page));
}

TEST(Html, LooksLike) {
  for (const char* html :
       {"<!DOCTYPE html>", "  <HTML>", "\xef\xbb\xbf<html>", "<div class=x>", "<!-- x --><p>"}) {
    EXPECT_TRUE(looks_like_html(html)) << html;
  }
  for (const char* text : {"", "text", "a < b", "{\"a\": \"<html>\"}", "<rss version=2>"}) {
    EXPECT_FALSE(looks_like_html(text)) << text;
  }
}

}  // namespace
}  // namespace doppel

#include "formats/html/html.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "base/status.h"

namespace doppel {
namespace {

using testing::AllOf;
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

TextSource source_of(std::string_view html) {
  HtmlExtractor extractor;
  EXPECT_TRUE(extractor.text(html, Extract::main).ok());
  return extractor.source();
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

// Else the rest of the page would be hidden.
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

constexpr std::string_view kArticle =
    "The exhibition of old maps opened on Monday morning in the town hall, and more people came than anybody "
    "had expected. The oldest of the sheets was drawn five hundred years ago by a monk who never left his "
    "valley, and yet the coast on it is nearly right.";

TEST(Main, DropsWhatSurroundsTheText) {
  const std::string page = fmt::format(
      R"(<body class="has-sidebar"><header><a href="/">Site</a> The best news of the valley, every day at noon</header>
<div class="mainNav"><ul><li><a href=1>News</a><li><a href=2>Sport</a></ul></div>
<div id="content"><h1>Old maps</h1><p>{0}</p><p>{0} More.</p><p>Short but between.</p><p>{0} Last.</p></div>
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

// The weight of marks depends on where the text is.
TEST(Main, BoilerplateThatHoldsTheTextIsNone) {
  const std::string page = fmt::format(
      "<form class=widget><div class=menu><a href=1>News of the day and of the whole week</a></div>"
      "<div><p>{0}</p><p>{0} More.</p></div></form><footer>All rights are with us, as they always "
      "were.</footer>",
      kArticle);
  EXPECT_EQ(main_of(page), fmt::format("{0}\n{0} More.", kArticle));
  const std::string both = fmt::format(
      "<div class=sidebar><p>{0} Beside.</p><p>{0} Beside.</p></div><div><p>{0}</p><p>{0} More.</p></div>",
      kArticle);
  EXPECT_EQ(main_of(both), fmt::format("{0}\n{0} More.", kArticle));
}

TEST(Main, CommentsOfReadersAreLeftOutUnlessThereIsNothingElse) {
  const std::string comments =
      fmt::format("<ol class=commentlist><li>{0} First.<li>{0} Second.</ol>", kArticle);
  EXPECT_THAT(main_of(fmt::format("<div><p>{0}</p><p>{0} More.</p></div>{1}", kArticle, comments)),
              Not(HasSubstr("First.")));
  EXPECT_THAT(main_of("<h1>Forum</h1>" + comments), HasSubstr("First."));
}

TEST(Main, TheLeadIsPartOfTheTextWhereverItIs) {
  const std::string page = fmt::format(
      "<header><h1>Old maps</h1><div class=teaser>Five hundred years ago a monk drew the coast.</div>"
      "<div class=author>By a woman who has written for this paper for years</div></header>"
      "<div class=articleBody><p>{0}</p><p>{0} More.</p></div>",
      kArticle);
  EXPECT_EQ(main_of(page),
            fmt::format("Five hundred years ago a monk drew the coast.\n{0}\n{0} More.", kArticle));
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
                                  // As found on pages: line feeds within strings.
                                  R"({"description": "one
two", "articleBody": ")" + body + "\"}"})
    EXPECT_EQ(main_of(page_with_data(json)), body) << json;
  EXPECT_EQ(main_of("<script type=\" Application/LD+JSON; charset=utf-8\">" + article + "</script>"), body);
  EXPECT_EQ(main_of("<script type=application/ld+json>{broken</script>" + page_with_data(article)), body);
  // The data contains markup and entities.
  EXPECT_EQ(main_of(page_with_data(R"({"articleBody": "<p>)" + std::string(kArticle) +
                                   R"( &amp; more<\/p><p>)" + std::string(kArticle) + "\"}")),
            fmt::format("{0} & more\n{0}", kArticle));
  EXPECT_EQ(main_of("<p>Loading<div style='display:none'><div>" + page_with_data(article) + "</div></div>"),
            body);
  // A reader does not see it.
  EXPECT_EQ(visible(page_with_data(article)), "Loading");
  // The blocks of the page that were left out in its favour.
  HtmlExtractor extractor;
  const std::string page = page_with_data(article);
  ASSERT_TRUE(extractor.text(page, Extract::main).ok());
  ASSERT_EQ(extractor.pieces().size(), 1);
  EXPECT_EQ(extractor.pieces()[0].text, "Loading");
  EXPECT_EQ(extractor.pieces()[0].fate, BlockFate::little);
}

// The page of a product may have a paragraph about deliveries, and show the rest by a script.
TEST(Main, AProductWithLittleTextIsWhatItsDataSays) {
  const std::string about = fmt::format("{0} {0} {0}", kArticle);
  const std::string product = R"({"@type": "Product", "name": "Map", "description": ")" + about + "\"}";
  const std::string delivery = fmt::format("<main><p>{}</p></main>", kArticle);
  HtmlExtractor extractor;
  const std::string page = page_with_data(product, delivery);
  EXPECT_EQ(*extractor.text(page, Extract::main), about);
  EXPECT_EQ(extractor.source(), TextSource::data);
  EXPECT_EQ(main_of(page_with_data(R"({"@graph": [)" + product + "]}", delivery)), about);
  const std::string text = fmt::format("<main><p>{0}</p><p>{0} More.</p></main>", kArticle);
  EXPECT_EQ(main_of(page_with_data(product, text)), fmt::format("{0}\n{0} More.", kArticle));
  // The description is about something else.
  for (const char* type : {"WebSite", "Article", "ProductCollection"}) {
    const std::string other = fmt::format(R"({{"@type": "{}", "description": "{}"}})", type, about);
    EXPECT_EQ(main_of(page_with_data(other, delivery)), kArticle) << type;
  }
}

// The first paragraphs of an article that is sold, whose data has all of it. Other data is not its text.
TEST(Main, AnArticleBehindAPaywallIsWhatItsDataSays) {
  std::string shown, all;
  for (int i = 0; i < 8; ++i) {
    const std::string part = fmt::format("Part {}. {}", i, kArticle);
    if (i < 2) shown += "<p>" + part + "</p>";
    all += (i == 0 ? "" : " ") + part;
  }
  const std::string paywall =
      R"("isAccessibleForFree": false, "isPartOf": {"@type": ["CreativeWork", "Product"], "name": "The paper"})";
  const std::string article =
      R"({"@type": "NewsArticle", )" + paywall + R"(, "articleBody": ")" + all + "\"}";
  const std::string page = "<main>" + shown + "</main>";
  HtmlExtractor extractor;
  EXPECT_EQ(*extractor.text(page_with_data(article, page), Extract::main), all);
  EXPECT_EQ(extractor.source(), TextSource::data);
  const std::string other = fmt::format("<main><p>Other: {0}</p><p>More: {0}</p></main>", kArticle);
  const std::string of_page = fmt::format("Other: {0}\nMore: {0}", kArticle);
  EXPECT_EQ(*extractor.text(page_with_data(article, other), Extract::main), of_page);
  EXPECT_EQ(extractor.source(), TextSource::page);
  // The page is no product, so what stands behind its text is not its own.
  const std::string tail = fmt::format("<section><p>She leads: {}</p></section>", kArticle);
  std::string text = "<main><div>";
  for (int i = 0; i < 6; ++i) text += fmt::format("<p>Page {}. {}</p>", i, kArticle);
  EXPECT_THAT(main_of(page_with_data("{" + paywall + "}", text + "</div>" + tail + "</main>")),
              Not(HasSubstr("She leads")));
  EXPECT_THAT(
      main_of(page_with_data(R"({"@type": ["Product", "Thing"]})", text + "</div>" + tail + "</main>")),
      HasSubstr("She leads"));
}

// A script shows the article; before, there is a caption.
TEST(Main, HardlyAnythingBesideALongArticleIsNotTheText) {
  const std::string caption = fmt::format("<main><p>{}</p></main>", kArticle);
  for (const int parts : {4, 12}) {
    std::string body;
    for (int i = 0; i < parts; ++i)
      body += fmt::format("{}Part {} of what {} wrote.", i == 0 ? "" : " ", i, std::string(220, 'x'));
    const std::string data = R"({"articleBody": ")" + body + "\"}";
    EXPECT_EQ(main_of(page_with_data(data, caption)), parts == 12 ? body : kArticle);
    EXPECT_EQ(main_of(page_with_data(data, caption + caption + fmt::format("<p>{} More.</p>", kArticle))),
              fmt::format("{0}\n{0} More.", kArticle));
  }
}

TEST(Main, DataIsNotLookedAtWhereThereIsAText) {
  const std::string text = fmt::format("<article><p>{0}</p><p>{0} More.</p></article>", kArticle);
  const std::string other = R"({"articleBody": ")" + std::string(1000, 'x') + "\"}";
  EXPECT_EQ(main_of(page_with_data(other, text)), fmt::format("{0}\n{0} More.", kArticle));
  for (const char* json : {R"({"articleBody": "too short"})", R"({"articleBody": 7})", "{", "", "[]",
                           R"({"headline": "articleBody"})"})
    EXPECT_EQ(main_of(page_with_data(json)), "Loading") << json;
  const std::string deep = std::string(1000, '[') + other + std::string(1000, ']');
  EXPECT_EQ(main_of(page_with_data(deep)), "Loading");
  EXPECT_EQ(main_of("<script type=text/javascript>" + other + "</script><p>Loading"), "Loading");
  HtmlExtractor extractor;  // nothing remains of one page for the next
  ASSERT_TRUE(extractor.text(page_with_data(other), Extract::main).ok());
  EXPECT_EQ(*extractor.text("<p>Loading", Extract::main), "Loading");
}

TEST(Main, CaptionsAndLinksToOtherPagesAreLeftOut) {
  const std::string page = fmt::format(
      "<article><p>{0}</p><figure><img><figcaption>The monk at work, as painted by his brother.</figcaption>"
      "</figure><p>Read on: <a href=x>How the brother learned to paint in only four weeks</a></p><p>{0} "
      "More.</p>"
      "<p>Short but here.</p></article>",
      kArticle);
  EXPECT_EQ(main_of(page), fmt::format("{0}\n{0} More.", kArticle));
}

TEST(Main, ALinkEndsWithItsEndTag) {
  const std::string page =
      fmt::format("<div><a href=x><div>More</a></div><p>{0}</p><p>{0} More.</p></div>", kArticle);
  EXPECT_EQ(main_of(page), fmt::format("{0}\n{0} More.", kArticle));
  EXPECT_EQ(main_of(fmt::format("<a name=top><p>{0}</p><p>{0} More.</p>", kArticle)),
            fmt::format("{0}\n{0} More.", kArticle));
}

TEST(Main, PiecesSayWhatBecameOfEachBlock) {
  HtmlExtractor extractor;
  const std::string page = fmt::format(
      "<nav><a href=1>News</a></nav><h1>Old maps</h1><article><p>{0}</p><p>{0} More.</p></article><p>Nearby, "
      "there "
      "is more.</p>",
      kArticle);
  ASSERT_TRUE(extractor.text(page, Extract::main).ok());
  std::string fates;
  for (const HtmlPiece& piece : extractor.pieces()) fates += std::string(fate_name(piece.fate)) + " ";
  EXPECT_EQ(fates, "boilerplate outside taken taken outside ");
}

// A browser shows readings above the characters, and breaks words at soft hyphens.
TEST(Main, IsWithoutReadingsAndSoftHyphens) {
  const std::string page = fmt::format(
      "<article><p>{0} <ruby>漢<rp>(</rp><rt>kan</rt><rp>)</rp>字<rt>ji</rt></ruby>, <rt>rt</rt>, "
      "an&shy;ten\u00adna.</p></article>",
      kArticle);
  EXPECT_EQ(main_of(page), fmt::format("{} 漢字, rt, antenna.", kArticle));
  EXPECT_THAT(visible(page), HasSubstr("kan"));
}

TEST(Main, IsAllWhereLittleWouldRemain) {
  const std::string page = "<nav><a href=1>a</a></nav><p>Few words.</p>";
  EXPECT_EQ(main_of(page), visible(page));
}

// A long name is a title, and some words also name topics.
TEST(Main, OnlyShortNamesSayWhatAnElementIs) {
  for (std::string_view name : {"sharing-changes-with-others", "the-tags-command", "license", "published",
                                "product-slider-content", "ad-hoc-networks-explained",
                                "how-to-write-a-good-footer", "elementor-cta", "elementor-cta__content"}) {
    const std::string page = fmt::format(
        "<main><p>{0} One.</p><p>{0} Two.</p><section id=\"{1}\"><p>{0} Three.</p></section></main>",
        kArticle, name);
    EXPECT_THAT(main_of(page), HasSubstr("Three.")) << name;
  }
  for (std::string_view name : {"sharing", "post-tags", "siteFooter", "main-cta-wrapper", "related-posts"}) {
    const std::string page =
        fmt::format("<main><p>{0} One.</p><p>{0} Two.</p><div class=\"{1}\"><p>{0} Three.</p></div></main>",
                    kArticle, name);
    EXPECT_THAT(main_of(page), Not(HasSubstr("Three."))) << name;
  }
}

TEST(Main, PostsInAFormAreText) {
  std::string posts;
  for (int i = 0; i < 6; ++i) posts += fmt::format("<div class=post><p>{} Post {}.</p></div>", kArticle, i);
  const std::string page =
      fmt::format("<h1>Old maps</h1><p>{}</p><form action=/moderate>{}</form>", kArticle, posts);
  EXPECT_THAT(main_of(page), HasSubstr("Post 5."));
  const std::string field = fmt::format(
      "<article><p>{0}</p><p>{0} More.</p></article><form><p>Your address will not be shown to any "
      "reader.</p></form>",
      kArticle);
  EXPECT_THAT(main_of(field), Not(HasSubstr("Your address")));
}

TEST(Main, AForumIsWhatItsReadersWrote) {
  const std::string first = fmt::format("<div class=post><p>{0} Question.</p></div>", kArticle);
  std::string answers;
  for (int i = 0; i < 3; ++i)
    answers += fmt::format("<div class=comment itemprop=comment><p>{} Answer {}.</p></div>", kArticle, i);
  EXPECT_THAT(main_of("<body>" + first + answers), Not(HasSubstr("Answer 2.")));
  EXPECT_THAT(main_of("<body class=\"topic-page\">" + first + answers), HasSubstr("Answer 2."));
  EXPECT_THAT(main_of("<div itemscope itemtype=http://schema.org/DiscussionForumPosting>" + first + answers),
              HasSubstr("Answer 2."));
  EXPECT_THAT(main_of("<script type=application/ld+json>{\"@type\":\"QAPage\"}</script>" + first + answers),
              HasSubstr("Answer 2."));
}

TEST(Main, NoscriptIsShownWhereLittleElseIs) {
  const std::string posts = fmt::format("<noscript><p>{0} One.</p><p>{0} Two.</p></noscript>", kArticle);
  const std::string page =
      "<header><a href=/>Home</a></header><div id=app></div>" + posts + "<script src=a.js></script>";
  EXPECT_THAT(main_of(page), HasSubstr("Two."));
  EXPECT_THAT(visible(page), HasSubstr("Two."));
  EXPECT_EQ(source_of(page), TextSource::page);
  const std::string both = fmt::format("<p>{0}</p><p>{0} Three.</p>", kArticle) + posts;
  EXPECT_THAT(main_of(both), Not(HasSubstr("Two.")));
  EXPECT_THAT(visible(both), Not(HasSubstr("Two.")));
}

// The decision depends on everything that a reader sees, not only on the main text.
TEST(Main, ANoscriptIsShownWhereAReaderWouldSeeIt) {
  const std::string noscript = fmt::format("<noscript><p>{0} One.</p><p>{0} Two.</p></noscript>", kArticle);
  const std::string dialog = fmt::format("<div role=dialog><p>{0}</p><p>{0} Cookies.</p></div>", kArticle);
  const std::string page = "<main><p>Few words.</p>" + noscript + "</main>" + dialog;
  EXPECT_THAT(visible(page), Not(HasSubstr("Two.")));
  EXPECT_THAT(main_of(page), Not(HasSubstr("Two.")));
}

std::string listing(int count) {
  std::string out;
  for (int i = 0; i < count; ++i)
    out += fmt::format("<li><a href=/p/{0}>The blue lamp number {0}</a> <b>{0} crowns</b></li>", i);
  return "<ul>" + out + "</ul>";
}

TEST(Main, APageWithoutOneTextIsItsList) {
  const std::string about = fmt::format("<div><p>{}</p></div>", kArticle);
  const std::string page =
      "<nav><a href=1>News of the day</a></nav><main><h1>Lamps</h1>" + listing(60) + about + "</main>";
  EXPECT_THAT(main_of(page), HasSubstr("The blue lamp number 59"));
  EXPECT_THAT(main_of(page), HasSubstr("The exhibition"));
  EXPECT_THAT(main_of(page), Not(HasSubstr("News of the day")));
  EXPECT_EQ(source_of(page), TextSource::page);
  // The same list of links without a mark of content may be a menu.
  EXPECT_EQ(source_of("<div>" + listing(60) + "</div>"), TextSource::fallback);
  // Next to a text, it is not part of the text.
  std::string text;
  for (int i = 0; i < 8; ++i) text += fmt::format("<p>{} Part {}.</p>", kArticle, i);
  const std::string both = "<main>" + text + listing(60) + "</main>";
  EXPECT_THAT(main_of("<article>" + both + "</article>"), Not(HasSubstr("blue lamp")));
  EXPECT_THAT(main_of("<meta property=og:type content=article>" + both), Not(HasSubstr("blue lamp")));
  EXPECT_THAT(main_of(both), HasSubstr("blue lamp"));
}

// The footer is the only plain text next to a list of links, and is not part of the list.
TEST(Main, TheListInMainIsNotReplacedByTheFooter) {
  const std::string footer = fmt::format("<footer><p>{0}</p><p>{0} More.</p></footer>", kArticle);
  std::string links;
  for (int i = 0; i < 60; ++i)
    links += fmt::format("<li><a href=/p/{0}>The blue lamp number {0}</a></li>", i);
  const std::string page =
      "<div><a href=1>Terms of the shop</a></div><main><ul>" + links + "</ul></main>" + footer;
  EXPECT_THAT(main_of(page), HasSubstr("The blue lamp number 59"));
  EXPECT_THAT(main_of(page), Not(HasSubstr("The exhibition")));
  EXPECT_THAT(main_of(page), Not(HasSubstr("Terms of the shop")));
}

// What the site says of itself is on all its pages, and the list in <main> is on this one.
TEST(Main, TheListInMainIsNotReplacedByATextOutside) {
  const auto page = [](const std::string& what) {
    std::string items;
    for (int i = 0; i < 12; ++i)
      items += fmt::format("<li><a href=/{0}/{1}><h3>The {0} number {1}</h3></a><p>{2},95</p></li>", what, i,
                           i * 7);
    return fmt::format(
        "<nav><a href=1>Home</a></nav><main><h1>All {}</h1><ul>{}</ul></main>"
        "<section><h2>About us</h2><p>{}</p></section>",
        what, items, kArticle);
  };
  EXPECT_THAT(main_of(page("lamps")), HasSubstr("The lamps number 11"));
  EXPECT_THAT(main_of(page("lamps")), Not(HasSubstr("The exhibition")));
  EXPECT_NE(main_of(page("lamps")), main_of(page("knives")));
}

TEST(Main, APageThatIsHiddenUntilItsScriptRunsIsRead) {
  for (const std::string hides : {"hidden", "style=display:none", "style='visibility: hidden'"}) {
    const std::string page = "<body " + hides + "><main><p>" + std::string(kArticle) + "</p></main></body>";
    EXPECT_THAT(main_of(page), HasSubstr("The exhibition")) << hides;
    EXPECT_THAT(visible(page), HasSubstr("The exhibition")) << hides;
  }
  const std::string answer = "Because the monk had talked to many travellers, and drew what they told him.";
  EXPECT_THAT(
      main_of(fmt::format("<main><p>{}</p><h3>Why?</h3><div hidden=until-found><p>{}</p></div></main>",
                          kArticle, answer)),
      HasSubstr(answer));
}

TEST(Main, WhatCallsItselfAMenuIsOneIfItIsLinks) {
  const std::string around = fmt::format("<p>{0} One.</p><p>{0} Two.</p>", kArticle);
  for (std::string_view name : {"content-nav-section", "faq_tabs-menu", "navigation"}) {
    const auto page = [&](std::string_view inside) {
      return fmt::format("<main>{}<div class=\"{}\">{}</div></main>", around, name, inside);
    };
    EXPECT_THAT(main_of(page(fmt::format("<p>{} Three.</p>", kArticle))), HasSubstr("Three.")) << name;
    EXPECT_THAT(main_of(page(fmt::format("<p><a href=1>{}</a> Three.</p>", kArticle))),
                Not(HasSubstr("Three.")))
        << name;
  }
  EXPECT_THAT(main_of(fmt::format("<main>{}<nav><p>{} Three.</p></nav></main>", around, kArticle)),
              Not(HasSubstr("Three.")));
}

// A carousel next to an article shows other articles; a company's carousel shows what the company does.
TEST(Main, WhatIsShownBesideOneThingIsNotOfIt) {
  const std::string text = fmt::format("<p>{0} One.</p><p>{0} Two.</p>", kArticle);
  for (std::string_view name : {"carousel", "home-slider", "promo", "teaser", "big-news-teaser"}) {
    const std::string page =
        fmt::format("<main>{0}<div class=\"{1}\"><p>{2} Three.</p></div></main>", text, name, kArticle);
    EXPECT_THAT(main_of(page), HasSubstr("Three.")) << name;
    for (std::string_view one : {
             "<meta property=\"og:type\" content=\"article\">",
             "<meta name='og:type' content='og:product'>",
             "<article></article>",
             "<script type=application/ld+json>{\"@type\": \"NewsArticle\"}</script>",
             "<script type=application/ld+json>{\"@type\": \"Product\"}</script>",
         }) {
      EXPECT_THAT(main_of(std::string(one) + page), Not(HasSubstr("Three."))) << one << name;
    }
    for (std::string_view many : {
             "<meta property=\"og:type\" content=\"website\">",
             "<meta property=\"og:title\" content=\"article\">",
             "<article></article><article></article>",
             "<script type=application/ld+json>{\"@type\": \"Organization\"}</script>",
         }) {
      EXPECT_THAT(main_of(std::string(many) + page), HasSubstr("Three.")) << many << name;
    }
  }
}

TEST(Main, TextsBesideEachOtherAreAllTheText) {
  std::string posts;
  for (int i = 0; i < 6; ++i) {
    posts += fmt::format("<article><h4>user{}</h4><div><p>{} Post {}.</p></div></article>", i, kArticle, i);
  }
  posts += fmt::format("<article><div><p>{0} Six.</p><p>{0}</p><p>{0} Long.</p></div></article>", kArticle);
  const std::string page = "<div class=page><div class=posts>" + posts + "</div></div>";
  EXPECT_THAT(main_of(page), HasSubstr("Post 0."));
  EXPECT_THAT(main_of(page), HasSubstr("Post 5."));
  EXPECT_THAT(main_of(page), HasSubstr("Long."));
}

// Of two lists with the same items, the one that is mostly links is about other pages.
TEST(Main, ItemsWithLinksAreTextInAListThatIsNotMostlyLinks) {
  const std::string links =
      "<li><a href=1>The atlas of the northern provinces, which was printed in the capital</a>"
      "<li><a href=2>Sheets of the coast</a>";
  const std::string words =
      "<li>A globe of the same year, which nobody has seen since the fire in the old library of the town, "
      "and "
      "of which only a drawing is left.";
  const auto list = [](const std::string& items) {
    return fmt::format("<article><p>{0}</p><ul>{1}</ul><p>{0} More.</p></article>", kArticle, items);
  };
  EXPECT_THAT(main_of(list(links + words)),
              AllOf(HasSubstr("northern provinces"), HasSubstr("of the coast")));
  EXPECT_THAT(main_of(list(links)), Not(HasSubstr("northern provinces")));
}

TEST(Main, AHeadingThatIsALinkBelongsToTheTextBelow) {
  const std::string item = fmt::format("<h2><a href=1>Old maps</a></h2><p>{}</p>", kArticle);
  const std::string page =
      fmt::format("<main><p>{0}</p>{1}<h2><a href=2>Other things</a></h2></main>", kArticle, item);
  EXPECT_THAT(main_of(page), HasSubstr("Old maps"));
  EXPECT_THAT(main_of("<article>" + page + "</article>"), Not(HasSubstr("Other things")));
}

TEST(Main, ReviewsAreOfReaders) {
  const std::string page = fmt::format(
      "<main><p>{0}</p><p>{0} More.</p><div class=\"product-reviews\"><p>{0} I like it.</p></div></main>",
      kArticle);
  EXPECT_THAT(main_of(page), Not(HasSubstr("I like it")));
}

// It is there for small and for large screens.
TEST(Main, AnElementThatIsThereTwiceCountsOnce) {
  const std::string text = fmt::format("<p>{0}</p><p>{0} Another.</p>", kArticle);
  EXPECT_EQ(main_of("<main><div>" + text + "</div><div>" + text + "</div></main>"),
            fmt::format("{0}\n{0} Another.", kArticle));
}

TEST(Main, ARefrainIsText) {
  EXPECT_EQ(main_of(fmt::format("<main><p>{0}</p><p>{0} Another.</p><p>{0}</p></main>", kArticle)),
            fmt::format("{0}\n{0} Another.\n{0}", kArticle));
  EXPECT_EQ(main_of(fmt::format("<main><div><p>{0}</p></div><div><p>{0}</p><p>{0} More.</p></div></main>",
                                kArticle)),
            fmt::format("{0}\n{0}\n{0} More.", kArticle));
}

TEST(Main, NumbersAloneAreNoText) {
  std::string numbers;
  for (int i = 1; i < 200; ++i) numbers += fmt::format("<li>{}.</li>", i);
  EXPECT_EQ(source_of("<main><ol>" + numbers + "</ol></main>"), TextSource::fallback);
}

// Only menu and footer remain: they are the same on all pages of the site.
TEST(Main, AMenuIsAFallback) {
  const std::string footer = fmt::format("<footer><p>{0}</p><p>{0} More.</p></footer>", kArticle);
  const std::string menu = "<nav><a href=1>News of the valley and of the world</a> <a href=2>Sport</a></nav>";
  for (const std::string& page : {
           menu + footer,
           menu + "<main></main>" + footer,
           menu + "<main><p>Loading</p></main>" + footer,
           "<div class=\"site-footer\"><p>" + std::string(kArticle) + "</p></div>" + menu,
           "<div role=contentinfo><p>" + std::string(kArticle) + "</p></div>" + menu,
           menu,
           std::string("<p>You need JavaScript to run this app.</p><script src=app.js></script>"),
           std::string("<div id=app></div><script src=app.js></script>"),
       }) {
    EXPECT_EQ(source_of(page), TextSource::fallback) << page;
  }
  for (const std::string& page : {
           menu + fmt::format("<main><p>{}</p></main>", kArticle) + footer,
           std::string("<h1>Opening hours</h1><p>From nine to five.</p>"),
           std::string(""),
           // A page whose outermost element is called a menu.
           fmt::format("<div class=menu-page><article><p>{0}</p><p>{0} More.</p></article></div>", kArticle),
       }) {
    EXPECT_EQ(source_of(page), TextSource::page) << page;
  }
  EXPECT_EQ(source_of(page_with_data(R"({"articleBody": ")" + fmt::format("{0} {0}", kArticle) + "\"}")),
            TextSource::data);
}

TEST(Main, ADialogIsNeverTheText) {
  const std::string question = fmt::format(
      "<p>We and our partners store cookies on your device. {0}</p><p>{0} More.</p><p>{0}</p>", kArticle);
  const std::string page = "<nav><a href=1>News</a></nav><h1>Old maps</h1><p>A monk drew it.</p>";
  for (std::string_view dialog :
       {"<div role=dialog>", "<div role=alertdialog>", "<dialog open>", "<div aria-modal=true>",
        "<div id=\"cookie-banner\">", "<div class=\"CookieConsent\">", "<section class=\"gdpr-popup big\">",
        "<div id=onetrust-banner-sdk>", "<div class=cookies>", "<div class=cmplz-cookiebanner>"}) {
    const std::string html = std::string(dialog) + question + "</div></dialog></section>" + page;
    EXPECT_EQ(main_of(html), "News\nOld maps\nA monk drew it.") << html;
    EXPECT_EQ(source_of(html), TextSource::fallback) << html;
  }
  // Other elements may have such names, too.
  for (std::string_view element :
       {"<div class=cookie-recipes>", "<div id=content class=has-cookie-banner-closed-and-more>",
        "<section id=what-is-informed-consent>"}) {
    EXPECT_THAT(main_of(std::string(element) + question + "</div></section>"),
                HasSubstr("We and our partners"));
  }
  // A page inside a dialog.
  EXPECT_THAT(main_of("<div role=dialog><main>" + question + "</main></div>"),
              HasSubstr("We and our partners"));
}

TEST(Html, LooksLike) {
  for (const char* html :
       {"<!DOCTYPE html>", "  <HTML>", "\xef\xbb\xbf<html>", "<div class=x>", "<!-- x --><p>",
        "<br />\n<b>Deprecated</b>: a function", "<STYLE>\n.visible {}", "<b>bold</b>", "<h2>", "<ul><li>"}) {
    EXPECT_TRUE(looks_like_html(html)) << html;
  }
  for (const char* text : {"", "text", "a < b", "{\"a\": \"<html>\"}", "<rss version=2>",
                           "<svg><style>a{}</style></svg>", "<brand>", "<b", "<ul:x>"}) {
    EXPECT_FALSE(looks_like_html(text)) << text;
  }
}

}  // namespace
}  // namespace doppel

// Where an article ends: what stands behind its text in other elements is about other things, whatever the
// elements are called.

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "formats/html/html.h"

namespace doppel {
namespace {

using testing::AllOf;
using testing::AnyOf;
using testing::HasSubstr;
using testing::Not;

std::string main_of(std::string_view html) {
  HtmlExtractor extractor;
  auto text = extractor.text(html, Extract::main);
  return text.ok() ? std::string(*text) : std::string();
}

constexpr std::string_view kSentence =
    "The older people of the valley still say that it had been as large as a barn, and brighter than the "
    "moon.";
constexpr std::string_view kSays = "<meta property=og:type content=article>";

// About 200 letters.
std::string paragraph(std::string_view topic, int number) {
  return fmt::format(
      "<p>Part {1} is about the {0}, which nobody in the valley had seen before that summer, although the "
      "older people said that their parents had told them about it, and that it had been as large as a barn "
      "({0} {1}).</p>",
      topic, number);
}

std::string paragraphs(std::string_view topic, int begin, int end) {
  std::string out;
  for (int i = begin; i < end; ++i) out += paragraph(topic, i);
  return out;
}

std::string page(std::string_view head, std::string_view body) {
  return fmt::format("<html><head>{}</head><body><nav><a href=/>Home</a></nav>{}</body></html>", head, body);
}

void expect_all(std::string_view text, std::string_view topic, int count) {
  for (int i = 0; i < count; ++i) EXPECT_THAT(text, HasSubstr(fmt::format("({} {})", topic, i)));
}

// The same texts inside the element with the article's text belong to it.
TEST(ArticleEnd, OtherElementsBehindTheTextAreLeftOut) {
  const std::string device =
      "<h2>Your account is in use on another device</h2><p>You can read the paper on one device only, "
      "because "
      "somebody else is reading it with your account.</p><ul><li><p>The other device shows this message "
      "(device), too, and stays connected with your account.</p></ul>";
  const std::string author =
      "<p>She leads the office in the capital. Before that, she wrote from four countries, and about the "
      "war. She has studied history and lives in a village (device).</p>";
  const std::string text = paragraphs("comet", 0, 8);
  for (const std::string& tail : {device, author}) {
    for (const std::string_view head : {kSays, std::string_view()}) {
      const std::string main = main_of(page(
          head,
          fmt::format("<main><h1>The comet</h1><div class=text>{}</div><section class=w>{}</section></main>",
                      text, tail)));
      expect_all(main, "comet", 8);
      EXPECT_THAT(main, Not(HasSubstr("(device)"))) << head;
    }
    const std::string inside = main_of(
        page(kSays, fmt::format("<main><h1>The comet</h1><div class=text>{}{}</div></main>", text, tail)));
    EXPECT_THAT(inside, HasSubstr("(device)"));
  }
}

// Advertisements divide articles into parts of any length. Magazines have them in a grid each.
TEST(ArticleEnd, PartsThatAreAlikeAreTheArticle) {
  for (const std::string_view head : {kSays, std::string_view()}) {
    for (const auto& [first, second] : {std::pair(7, 8), std::pair(6, 9), std::pair(3, 6), std::pair(1, 5)}) {
      std::string parts;
      for (const auto& [begin, end] :
           {std::pair(0, first), std::pair(first, second), std::pair(second, 10)}) {
        parts += fmt::format(
            "<div class=\"grid a{0}\"><div class=\"item\"><div class=\"body__container article__body\"><div "
            "class=inner>{1}</div></div></div><div class=aside><aside>Advertisement</aside></div></div>",
            begin, paragraphs("comet", begin, end));
      }
      const std::string text = "<h1>The comet</h1><div class=chunks>" + parts + "</div>";
      expect_all(main_of(page(head, "<article>" + text + "</article>")), "comet", 10);
      if (head == kSays) expect_all(main_of(page(head, "<div>" + text + "</div>")), "comet", 10);
    }
  }
}

TEST(ArticleEnd, ParagraphsBehindTheTextBelongToIt) {
  const std::string main = main_of(page(
      kSays,
      fmt::format("<article><div class=text>{}</div>{}</article>", paragraphs("comet", 0, 8),
                  "<p>This article was changed after its first day, because it gave a wrong year.</p>")));
  expect_all(main, "comet", 8);
  EXPECT_THAT(main, HasSubstr("a wrong year."));
}

// A product, a page about many things, or one with few long paragraphs has parts that differ.
TEST(ArticleEnd, OtherPagesEndWhereTheyEnd) {
  std::string items;
  for (int i = 0; i < 6; ++i)
    items += fmt::format("<div><h3>Thing {}</h3><div>{}</div></div>", i, paragraph("item", i));
  const std::string tail = "<section class=w>" + paragraph("tail", 0) + paragraph("tail", 1) + "</section>";
  EXPECT_THAT(
      main_of(page({}, "<main><h1>Things</h1><div class=list>" + items + "</div>" + tail + "</main>")),
      HasSubstr("(tail 1)"));
  const std::string text = "<div class=text>" + paragraphs("comet", 0, 6) + "</div>";
  EXPECT_THAT(main_of(page("<meta property=og:type content=product>", "<main>" + text + tail + "</main>")),
              HasSubstr("(tail 1)"));
  const std::string two = "<div class=text>" + paragraphs("comet", 0, 2) + "</div><section class=w>" +
                          paragraph("tail", 1) + "</section>";
  EXPECT_THAT(main_of(page(kSays, "<main>" + two + "</main>")), HasSubstr("(tail 1)"));
}

std::string article_with(std::string_view head, std::string_view box) {
  return main_of(page(head, fmt::format("<article><h1>The comet</h1><div class=text>{}{}{}</div></article>",
                                        paragraphs("comet", 0, 4), box, paragraphs("comet", 4, 8))));
}

TEST(ArticleEnd, BoxesBetweenItsParagraphsAreLeftOut) {
  for (const std::string_view head : {kSays, std::string_view()})
    for (const std::string_view box :
         {"<div class=x><h3>Letters from the valley (box)</h3><p>Each Monday, what our readers ask about "
          "stars.</p><ul><li>No advertisements (box)</li><li>Change it whenever you like</li></ul></div>",
          "<section><div><p>You find a film here, which adds to this article (box).</p></div></section>"
          "<section><div>Have you seen a comet? (box)</div><div>Yes, more than one (box)</div><div>No, but I "
          "would like to (box)</div></section>"}) {
      const std::string main = article_with(head, box);
      expect_all(main, "comet", 8);
      EXPECT_THAT(main, Not(HasSubstr("(box)"))) << box;
    }
}

TEST(ArticleBegin, ALineWithADateIsNotText) {
  const auto with = [](std::string_view line) {
    return main_of(page(kSays, fmt::format("<div><h1>The comet</h1><p>{0}</p>{1}<p>{0}</p>{2}</div>", line,
                                           paragraphs("comet", 0, 4), paragraphs("comet", 4, 8))));
  };
  for (const std::string_view line : {"Published on 13 Mai 2026 at 15:44", "Updated: 03.07.2024 - 18:24",
                                      "By the agency, November 28, 1999"}) {
    const std::string main = with(line);
    expect_all(main, "comet", 8);
    EXPECT_EQ(main.find(line), main.rfind(line)) << line;  // the one between the paragraphs stays
    EXPECT_NE(main.find(line), main.npos) << line;
  }
  for (const std::string_view line :
       {"The comet of 2024 is the last one", "Comets 1 to 24, and 1234567 others"})
    EXPECT_THAT(with(line), testing::StartsWith(line));
}

TEST(ArticleEnd, AHeadingThatNoTextFollowsIsNotText) {
  const auto with = [](std::string_view end) {
    return main_of(page("", fmt::format("<div>{}<h2>The tail</h2>{}{}</div>", paragraphs("comet", 0, 4),
                                        paragraphs("comet", 4, 8), end)));
  };
  const std::string main = with(
      "<h3>What else our readers have asked about comets in this summer (end)</h3><h4>Most read "
      "(end)</h4><p><a href=/x>Another comet</a></p>");
  expect_all(main, "comet", 8);
  EXPECT_THAT(main, HasSubstr("The tail"));
  EXPECT_THAT(main, Not(HasSubstr("(end)")));
  EXPECT_THAT(
      with("<h3>How it ended (end)</h3><p>Nobody has seen it since, and nobody expects to see it again.</p>"),
      HasSubstr("(end)"));
  // What is longer than a tenth of the text is more than a heading.
  EXPECT_THAT(with(fmt::format("<h3>{0} {0} (end)</h3>", std::string(kSentence))), HasSubstr("(end)"));
}

TEST(ArticleEnd, TheTextBesideAPictureIsItsCaption) {
  const std::string text =
      "The comet above the valley in the last week of August, seen from the roof of the school, where the "
      "whole village had come together to watch it (caption).";
  const auto with = [&](std::string_view head, std::string_view box) {
    return article_with(head, fmt::format(fmt::runtime(box), text));
  };
  for (const std::string_view box : {"<div><a href=x><img src=x></a><p>{}</p></div>",
                                     "<section><div><picture><img></picture></div><div>{}</div></section>",
                                     "<div><img><p>{}</p><p>Photograph: the agency (caption)</p></div>"}) {
    const std::string main = with(kSays, box);
    expect_all(main, "comet", 8);
    EXPECT_THAT(main, Not(HasSubstr("(caption)"))) << box;
    EXPECT_EQ(with("", box), main) << box;  // whatever the page says of itself
    // Nor is it the lead, wherever it is.
    const std::string lead =
        fmt::format("<h1>The comet</h1><div class=hero>{}</div>", fmt::format(fmt::runtime(box), text));
    const std::string above =
        main_of(page(kSays, lead + "<article>" + paragraphs("comet", 0, 8) + "</article>"));
    EXPECT_THAT(above, Not(HasSubstr("(caption)"))) << box;
  }
  for (const std::string_view box :
       {"<p><img src=x>{}</p>", "<div><p>{}</p></div>", "<div><img><p>{0}</p><p>{0}</p><p>{0}</p></div>",
        "<div><img><p>{0} {0}</p></div>", "<ul><li><img><div>{}</div></li></ul>"})
    EXPECT_THAT(with(kSays, box), HasSubstr("(caption)")) << box;
  // Pictures and texts alternate.
  std::string all;
  for (int i = 0; i < 8; ++i) all += fmt::format("<div><img>{}</div>", paragraph("comet", i));
  expect_all(main_of(page(kSays, "<article><h1>Comets</h1>" + all + "</article>")), "comet", 8);
}

// Also on a page that does not say what it is, if no running text follows.
TEST(ArticleEnd, LinkedTitlesBehindItAreOtherStories) {
  std::string items;
  for (int i = 0; i < 12; ++i)
    items += fmt::format(
        "<li><article><span>Picture of an agency</span><h3><a href=/{0}>A bear was seen near the village "
        "(story {0})</a></h3></article></li>",
        i);
  const std::string stories = "<section><h2>The next one</h2><ul>" + items + "</ul></section>";
  const auto article = [](int count) {
    return "<article><h1>The comet</h1>" + paragraphs("comet", 0, count) + "</article>";
  };
  const auto main = [](std::string_view head, const std::string& body) {
    return main_of(page(head, "<div>" + body + "</div>"));
  };
  for (const std::string_view head : {kSays, std::string_view()}) {
    const std::string text = main(head, article(12) + stories);
    expect_all(text, "comet", 12);
    EXPECT_THAT(text, Not(HasSubstr("(story"))) << head;
  }
  // A list between two texts, or behind an introduction, may be what the page is about.
  const std::string introduction = "<div><h1>Bears</h1>" + paragraphs("comet", 0, 4) + stories + "</div>";
  EXPECT_THAT(main({}, introduction), HasSubstr("(story 11)"));
  EXPECT_THAT(
      main({}, "<div>" + paragraphs("comet", 0, 12) + stories + paragraphs("comet", 12, 14) + "</div>"),
      HasSubstr("(story 11)"));
}

TEST(ArticleEnd, TablesListsQuotesAndLongTextBetweenItsParagraphsStay) {
  const std::string long_one = "<div><h3>What a comet is</h3>" + paragraph("box", 1) + "</div>";
  for (const std::string_view kept :
       {std::string_view(
            "<div><table><tr><td>Year</td><td>Length of the tail</td></tr><tr><td>1910</td><td>a "
            "quarter of the sky</td></tr></table></div>"),
        std::string_view("<div><pre>length = a quarter of the sky</pre></div>"),
        std::string_view("<ul><li>a quarter of the sky, which is a lot</li></ul>"),
        std::string_view("<blockquote><div>a quarter of the sky, my mother said</div></blockquote>"),
        std::string_view("<h2>a quarter of the sky</h2>"), std::string_view(long_one)}) {
    EXPECT_THAT(article_with(kSays, kept), AnyOf(HasSubstr("a quarter of the sky"), HasSubstr("(box 1)")))
        << kept;
  }
  // The paragraphs are in elements of their own.
  const std::string box = "<div><p>Each Monday, what our readers ask about the stars (box).</p></div>";
  std::string parts;
  for (int i = 0; i < 8; ++i)
    parts += "<div><div>" + paragraph("comet", i) + "</div></div>" + (i == 4 ? box : "");
  EXPECT_THAT(main_of(page(kSays, "<article><h1>The comet</h1>" + parts + "</article>")), HasSubstr("(box)"));
}

// Slides between the paragraphs of an article are about other things; a list of ten places is the article.
TEST(End, NumberedSlidesInAnArticleAreNotOfIt) {
  const std::string meta = "<meta property=og:type content=article>";
  const auto slides = [](int count, int skipped = 0, std::string_view tag = "h2") {
    std::string out = "<div><h2>News in pictures</h2><ul>";
    for (int i = 1; i <= count; ++i) {
      if (i != skipped)
        out += fmt::format("<li><{0}><span>{1}/{2}</span> Slide</{0}><p>Number {1}: {3}</p></li>", tag, i,
                           count, kSentence);
    }
    return out + "</ul></div>";
  };
  const auto paragraphs = [](std::string_view from) {
    std::string out;
    for (int i = 0; i < 4; ++i) out += fmt::format("<p>{} {}: {}</p>", from, i, kSentence);
    return out;
  };
  const auto page = [&](const std::string& between, std::string_view behind = "After") {
    return meta + "<main>" + paragraphs("Before") + between + (behind.empty() ? "" : paragraphs(behind)) +
           "</main>";
  };
  for (const std::string& of : {slides(10), slides(50), slides(12, 0, "p")}) {
    EXPECT_THAT(main_of(page(of)),
                AllOf(HasSubstr("Before 3"), HasSubstr("After 0"), Not(HasSubstr("Number"))))
        << of;
    EXPECT_THAT(main_of(page(of, "")), HasSubstr("Number 5")) << "the article is a list";
    EXPECT_THAT(main_of(page(of).substr(meta.size())), HasSubstr("Number 5"))
        << "nothing says that it is an article";
  }
  EXPECT_THAT(main_of(page(slides(9))), HasSubstr("Number 9"));
  EXPECT_THAT(main_of(page(slides(19, 4))), HasSubstr("Number 5"));
  // The slides and the rest are in one element.
  std::string flat = meta + "<main><div>" + paragraphs("Before");
  for (int i = 1; i <= 10; ++i) flat += fmt::format("<h2>{} / 10</h2><p>Number {}: {}</p>", i, i, kSentence);
  EXPECT_THAT(main_of(flat + paragraphs("After") + "</div></main>"),
              AllOf(HasSubstr("After 0"), Not(HasSubstr("Number 4"))));
}

}  // namespace
}  // namespace doppel

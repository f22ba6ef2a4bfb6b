// What a class or id may do to the text below it: a name is evidence, and the text outweighs it.

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "formats/html/html.h"

namespace doppel {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string main_of(std::string_view html) {
  HtmlExtractor extractor;
  auto text = extractor.text(html, Extract::main);
  return text.ok() ? std::string(*text) : std::string();
}

// Paragraphs with different texts, each of about 240 letters.
std::string paragraph(std::string_view topic, int number) {
  return fmt::format(
      "The {0} of the town was the first thing that she wrote about in letter {1}, because nobody had told "
      "her "
      "how much of it there would be. Part {1} of this story says where the {0} came from, who paid for it, "
      "and "
      "why the people of the valley still speak of it.",
      topic, number);
}

std::string paragraphs(std::string_view topic, int count, std::string_view start = "<p>") {
  std::string out;
  for (int i = 1; i <= count; ++i) out += fmt::format("{}{}</p>\n", start, paragraph(topic, i));
  return out;
}

// Beginnings of other stories, which weigh about as much as the article.
std::string teasers(int count) {
  std::string out = "<div>";
  for (int i = 1; i <= count; ++i) {
    out += fmt::format(
        "<div><h3><a href=/s/{0}>Story number {0}</a></h3><p>In story {0} of this week a farmer finds a bell "
        "in "
        "his field, and the whole village argues about its age.</p></div>",
        i);
  }
  return out + "</div>";
}

std::string page(std::string_view article) {
  return fmt::format(
      "<html><head><title>Harbour</title></head><body><nav><a href=/>Home</a> <a href=/a>All</a></nav>{}{}"
      "<footer><p>All rights belong to the paper and its writers since 1921.</p></footer></body></html>",
      article, teasers(14));
}

void expect_article(std::string_view html, int count = 6) {
  const std::string text = main_of(html);
  for (int i = 1; i <= count; ++i)
    EXPECT_THAT(text, HasSubstr(paragraph("harbour", i))) << html.substr(0, 500);
}

// WordPress puts the slugs of an article's categories and tags into its class.
TEST(Names, TheTopicsOfAnArticleAreNotItsRole) {
  for (std::string_view slug : {"category-book-reviews", "category-newsletter", "tag-cookies",
                                "category-copyright", "tag-cookie-consent", "category-related", "tag-footer",
                                "category-comments", "tag-privacy-settings", "category-ads"}) {
    for (std::string_view element : {"article", "div"}) {
      expect_article(
          page(fmt::format("<{0} class=\"post-17 post type-post hentry {1}\"><h1>Harbour</h1>{2}</{0}>",
                           element, slug, paragraphs("harbour", 6))));
    }
  }
}

TEST(Names, DifferentArticlesOfACategoryHaveDifferentTexts) {
  const auto of = [](std::string_view topic) {
    return main_of(page(fmt::format("<article class=\"post category-newsletter\"><h1>{0}</h1>{1}</article>",
                                    topic, paragraphs(topic, 6))));
  };
  EXPECT_NE(of("harbour"), of("theatre"));
  EXPECT_THAT(of("theatre"), HasSubstr(paragraph("theatre", 3)));
}

// The words that are names of boilerplate, of comments and of dialogs, on the element with the article.
TEST(Names, NoWordDeletesTheElementWithMostOfTheText) {
  for (std::string_view word :
       {"paywall", "newsletter", "sidebar",  "related",   "subscribe", "meta",      "author",
        "bio",     "widget",     "more",     "share",     "caption",   "reviews",   "comments",
        "replies", "privacy",    "tracking", "consent",   "banner",    "teaser",    "promo",
        "nav",     "menu",       "cta",      "sponsored", "footer",    "copyright", "masthead"}) {
    for (std::string_view element : {"article", "div", "section"}) {
      expect_article(page(fmt::format("<{0} class=\"{1}\"><h1>Harbour</h1>{2}</{0}>", element, word,
                                      paragraphs("harbour", 6))));
      expect_article(page(fmt::format("<h1>Harbour</h1><main><{0} id=\"{1}\">{2}</{0}></main>", element, word,
                                      paragraphs("harbour", 6))));
    }
  }
}

// The sample of schema.org: the beginning is free, the body is in an element of this class.
TEST(Names, TheBodyBehindAPaywallIsText) {
  const std::string data =
      "<script type=application/ld+json>{\"@type\": \"NewsArticle\", \"isAccessibleForFree\": false, "
      "\"hasPart\": "
      "{\"@type\": \"WebPageElement\", \"cssSelector\": \".paywall\"}}</script>";
  expect_article(
      page(data + fmt::format("<div class=\"non-paywall\"><p>{}</p></div><div class=\"paywall\">{}</div>",
                              paragraph("harbour", 7), paragraphs("harbour", 6))),
      7);
}

TEST(Names, UtilityClassesAreNoNames) {
  for (std::string_view name :
       {"-tracking-1", "tracking-tight", "text-caption", "text-meta", "bg-banner", "dark:bg-footer",
        "md:sidebar", "hover:bg-cookies", "text-footer", "border-widget", "lg:text-caption", "font-caption",
        "dark:md:bg-related", "!text-meta", "fill-social"}) {
    expect_article(page(fmt::format("<article><h1>Harbour</h1>{}</article>",
                                    paragraphs("harbour", 6, fmt::format("<p class=\"mb-4 {}\">", name)))));
    // On a part of the article, where the text is too little to outweigh a name.
    const std::string part =
        fmt::format("<article><h1>Harbour</h1>{}<div class=\"p-2 {}\"><p>{}</p></div></article>",
                    paragraphs("harbour", 6), name, paragraph("harbour", 7));
    expect_article(page(part), 7);
  }
}

// The main text of an article with an offer in an element of this class.
std::string with_offer(std::string_view name) {
  return main_of(
      page(fmt::format("<article><h1>Harbour</h1>{}<div class='{}'><p>{}</p></div>{}</article>",
                       paragraphs("harbour", 3), name, paragraph("offer", 1), paragraphs("harbour", 6))));
}

TEST(Names, OneOfAFrameworkHidesAnElement) {
  for (std::string_view name : {"hidden", "d-none", "hide", "u-display--is-hidden", "uk-hidden", "ng-hide"})
    EXPECT_THAT(with_offer(fmt::format("box {}", name)), Not(HasSubstr(paragraph("offer", 1)))) << name;
  // The element is shown on some screens, or once a reader unfolds it.
  for (std::string_view name : {"hidden md:block", "d-none d-sm-flex", "hidden aria-expanded:block",
                                "hide visible-xs", "overflow-hidden", "hidden-xs", "unhidden"})
    EXPECT_THAT(with_offer(fmt::format("box {}", name)), HasSubstr(paragraph("offer", 1))) << name;
  expect_article(
      page(fmt::format("<article class=hidden><h1>Harbour</h1>{}</article>", paragraphs("harbour", 6))));
}

// Build tools make names unique. With the letters of the hash, these would be sentences.
TEST(Names, HashesAreNoWords) {
  for (std::string_view name :
       {"page_story_image-caption__LYZT4", "styles__Caption-sc-1y47awc-0", "page_story_newsletter__a1b2C"})
    EXPECT_THAT(with_offer(name), Not(HasSubstr(paragraph("offer", 1)))) << name;
  for (std::string_view name : {"page_story_image-caption__LYZT4aBc", "page__harbour_caption_of__Towns",
                                "page_story_long-caption__harbour"})
    EXPECT_THAT(with_offer(name), HasSubstr(paragraph("offer", 1))) << name;
}

TEST(Names, DifferentPagesOfUtilityClassesHaveDifferentTexts) {
  const auto of = [](std::string_view topic) {
    return main_of(page(fmt::format("<article>{}</article>", paragraphs(topic, 6, "<p class=-tracking-1>"))));
  };
  EXPECT_NE(of("harbour"), of("theatre"));
}

// The id of a section says what its title says.
TEST(Names, TheIdOfASectionIsItsTitle) {
  for (std::string_view id : {"more-about-x", "more-about-maps", "sharing-a-map", "a-banner-of-x"}) {
    expect_article(
        page(fmt::format(
            "<article><h1>Harbour</h1>{}<section id=\"{}\"><h2>More</h2><p>{}</p></section></article>",
            paragraphs("harbour", 6), id, paragraph("harbour", 7))),
        7);
  }
}

// Ads and videos divide an article into parts of the same class.
TEST(Names, PartsOfAnArticleAreWeighedTogether) {
  std::string parts;
  for (int i = 1; i <= 6; ++i)
    parts += fmt::format("<div class=\"sidebar-grid\"><p>{}</p></div><div class=ad>Buy</div>",
                         paragraph("harbour", i));
  expect_article(page("<article><h1>Harbour</h1>" + parts + "</article>"));
}

// The words still mean what they say where the text does not contradict them.
TEST(Names, ANamedPartIsLeftOut) {
  for (std::string_view name :
       {"sidebar", "related", "newsletter", "post-tags", "siteFooter", "subscribe", "l-sidebar",
        "cookie-banner", "cookies", "entry-meta", "category-sidebar related", "comments"}) {
    const std::string text =
        main_of(page(fmt::format("<article><h1>Harbour</h1>{}</article><div class=\"{}\"><p>{}</p></div>",
                                 paragraphs("harbour", 6), name, paragraph("bridge", 1))));
    EXPECT_THAT(text, Not(HasSubstr("bridge"))) << name;
    const std::string inside = main_of(
        page(fmt::format("<article><h1>Harbour</h1>{}<div class=\"{}\"><p>{}</p></div>{}</article>",
                         paragraphs("harbour", 3), name, paragraph("bridge", 1), paragraphs("harbour", 3))));
    EXPECT_THAT(inside, Not(HasSubstr("bridge"))) << name;
  }
}

std::string article_text() { return paragraph("map", 1); }

std::string stories(int count,
                    std::string_view text = "A few lines about what happened in the valley on this day.") {
  std::string out;
  for (int i = 0; i < count; ++i)
    out += fmt::format(
        "<div><h3><a href=/{0}>What the mayor said on day {0}</a></h3><p>{1} Day {0}.</p></div>", i, text);
  return "<div>" + out + "</div>";
}

// Nothing is called by a name here.
TEST(Names, StoriesBehindAnArticleAreNotItsEnd) {
  std::string text;
  for (int i = 0; i < 5; ++i) text += fmt::format("<p>{} Part {}.</p>", article_text(), i);
  const std::string article = "<meta property=og:type content=article><h1>Old maps</h1>";
  for (int count : {3, 12, 60}) {
    for (const std::string& page : {article + "<div>" + text + "<h2>More</h2>" + stories(count) + "</div>",
                                    article + "<div><div>" + text + "</div>" + stories(count) + "</div>"}) {
      EXPECT_THAT(main_of(page), HasSubstr("Part 4."));
      EXPECT_THAT(main_of(page), Not(HasSubstr("Day 2."))) << page;
    }
  }
  // In front of the text, on a page about many things, or with long texts, they may be its content.
  EXPECT_THAT(main_of(article + "<main>" + stories(12) + "</main>"), HasSubstr("Day 2."));
  EXPECT_THAT(main_of("<h1>News</h1><main>" + text + stories(12) + "</main>"), HasSubstr("Day 2."));
  EXPECT_THAT(
      main_of(article + "<main>" + text + stories(12, fmt::format("{0} {0}", article_text())) + "</main>"),
      HasSubstr("Day 2."));
  // Two of them are a box beside the paragraphs, and stay beside other elements.
  EXPECT_THAT(main_of(article + "<main>" + text + stories(2) + "</main>"), Not(HasSubstr("Day 1.")));
  std::string parts;
  for (int i = 0; i < 5; ++i)
    parts += fmt::format("<div><div><p>{} Part {}.</p></div></div>", article_text(), i);
  EXPECT_THAT(main_of(article + "<main>" + parts + stories(2) + "</main>"), HasSubstr("Day 1."));
}

// Publishers of magazines put this class on each paragraph but the first ones.
TEST(Names, ParagraphsBehindAPaywallAreText) {
  std::string text = fmt::format("<p>{} First.</p>", article_text());
  for (int i = 0; i < 9; ++i) text += fmt::format("<p class=\"paywall\">{} Part {}.</p>", article_text(), i);
  const std::string main = main_of("<article><div class=body__inner-container>" + text + "</div></article>");
  for (const char* part : {"First.", "Part 0.", "Part 8."}) EXPECT_THAT(main, HasSubstr(part));
}

}  // namespace
}  // namespace doppel

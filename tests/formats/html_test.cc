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
  EXPECT_THAT(text, HasSubstr("Old maps\nThe exhibition"));
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

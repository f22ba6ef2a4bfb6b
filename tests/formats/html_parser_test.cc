// The texts of a page in the elements that a browser puts them in.

#include "formats/html/html_parser.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <chrono>

#include "base/status.h"

namespace doppel {
namespace {

// The page with all end tags written, and with one space for each attribute that rules read.
class Written final : public HtmlEvents {
 public:
  void start(const Element& element, HtmlAttributes attributes) override {
    open_.push_back(element.name);
    out_ += fmt::format("<{}", element.name);
    attributes.each([&](HtmlAttribute name, std::string_view value) {
      out_ += fmt::format(" {}={}", static_cast<int>(name), value);
    });
    out_ += ">";
  }
  void end() override {
    out_ += fmt::format("</{}>", open_.back());
    open_.pop_back();
  }
  void end_link() override { out_ += "|"; }
  void text(std::string_view text) override { out_ += text; }
  std::string take() {
    EXPECT_TRUE(open_.empty());
    return std::exchange(out_, {});
  }

 private:
  std::vector<std::string_view> open_;
  std::string out_;
};

std::string parsed(std::string_view page) {
  Written events;
  HtmlParser parser;
  const absl::Status status = parser.parse(page, events);
  return status.ok() ? events.take() : std::string(std_sv(status.message()));
}

TEST(Parser, ClosesWhatAuthorsLeaveOpen) {
  const std::pair<const char*, const char*> cases[] = {
      {"<p>a<p>b<div>c</div>d", "<p>a</p><p>b</p><div>c</div>d"},
      {"<p>a<h2>b<h3>c</h2>d", "<p>a</p><h2>b</h2><h3>c</h3>d"},
      {"<ul><li>a<li>b<ul><li>c</ul>d</ul>e", "<ul><li>a</li><li>b<ul><li>c</li></ul>d</li></ul>e"},
      {"<li><div>a<li>b", "<li><div>a</div></li><li>b</li>"},
      {"<li><section>a<li>b", "<li><section>a<li>b</li></section></li>"},
      {"<dl><dt>a<dd>b<p>c<dt>d</dl>", "<dl><dt>a</dt><dd>b<p>c</p></dd><dt>d</dt></dl>"},
      {"<table><tr><td>a<td>b<tr><th>c</table>d",
       "<table><tr><td>a</td><td>b</td></tr><tr><th>c</th></tr></table>d"},
      {"<table><caption>a<tbody><tr><td>b<tbody><tr><td>c",
       "<table><caption>a</caption><tbody><tr><td>b</td></tr></tbody><tbody><tr><td>c</td></tr></tbody></"
       "table>"},
      {"<table><td>a<table><td>b</table>c<td>d",
       "<table><td>a<table><td>b</td></table>c</td><td>d</td></table>"},
      {"<table><tr><td>a</tr>b", "<table><tr><td>a</td></tr>b</table>"},
      {"<table><td>a</tr><td>b", "<table><td>a</td><td>b</td></table>"},
      {"<select><option>a<option>b<optgroup>c<option>d</select>e",
       "<select><option>a</option><option>b</option><optgroup>c<option>d</option></optgroup></select>e"},
      {"<select><option>a<input>b", "<select><option>a</option></select><input></input>b"},
      {"<select>a<select>b", "<select>a</select>b"},
      {"<button>a<button>b", "<button>a</button><button>b</button>"},
      {"<p><button>a<p>b</button>c", "<p><button>a<p>b</p></button>c</p>"},
      {"<form>a<form>b</form>c", "<form>ab</form>c"},
      {"<a href=1>x<a href=2>y", "<a 8=1>x</a><a 8=2>y</a>"},
      {"<a href=1>x<div>y<a href=2>z", "<a 8=1>x<div>y|<a 8=2>z</a></div></a>"},
      {"<a href=1>x<div>y</a>z", "<a 8=1>x<div>y|z</div></a>"},
  };
  for (const auto& [page, expected] : cases) EXPECT_EQ(parsed(page), expected) << page;
}

TEST(Parser, AnEndTagEndsNothingBeyondItsReach) {
  const std::pair<const char*, const char*> cases[] = {
      {"<div>a<table><td>b</div>c", "<div>a<table><td>bc</td></table></div>"},
      {"<b>a<div>b</b>c", "<b>a<div>bc</div></b>"},
      {"<x-a>a<x-b>b</x-a>c", "<>a<>b</></>c"},
      {"<x-a>a<div>b</x-a>c", "<>a<div>bc</div></>"},
      {"</p>a</br>b", "<p></p>a<br></br>b"},
      {"<body>a</body></html>b", "<body>ab</body>"},
      {"<template><td>a<div>b</template>c", "<template><td>a<div>b</div></td></template>c"},
      {"<p>a<!doctype html><table>", "<p>a<table></table></p>"},
      {"<!doctype html><p>a<table>", "<p>a</p><table></table>"},
      {"<p>a<table>", "<p>a<table></table></p>"},
  };
  for (const auto& [page, expected] : cases) EXPECT_EQ(parsed(page), expected) << page;
}

TEST(Parser, HeadsAndBodies) {
  const std::pair<const char*, const char*> cases[] = {
      {"<html><head><title>a</title><p>b", "<html><head><title>a</title></head><p>b</p></html>"},
      {"<head><meta name=a><noscript><img></noscript><link><body>b",
       "<head><meta 10=a></meta><noscript><img></img></noscript><link></link></head><body>b</body>"},
      {"<html class=a><body><html class=b><body id=c>d", "<html 0=a><body>d</body></html>"},
      {"<div>a<body class=b>c", "<div>a<body 0=b></body>c</div>"},
  };
  for (const auto& [page, expected] : cases) EXPECT_EQ(parsed(page), expected) << page;
}

TEST(Parser, SvgAndMath) {
  const std::pair<const char*, const char*> cases[] = {
      {"<svg><title><b>a</title><path/>b</svg>c", "<svg><title><b>a</b></title><></>b</svg>c"},
      {"<svg><title>a</title><g/>b</svg>c", "<svg><title>a</title><></>b</svg>c"},
      {"<svg><style>a<g>b</style></svg><style>a<g>b</style>",
       "<svg><style>a<>b</></style></svg><style>a<g>b</style>"},
      {"<svg><![CDATA[a<b>]]></svg><![CDATA[c]]>", "<svg>a<b></svg>"},
      {"<svg><g>a<p>b", "<svg><>a</></svg><p>b</p>"},
      {"<div><svg><foreignObject><p>a</div>b",
       "<div><svg><foreignobject><p>ab</p></foreignobject></svg></div>"},
      {"<svg><foreignObject></svg>a", "<svg><foreignobject></foreignobject></svg>a"},
  };
  for (const auto& [page, expected] : cases) EXPECT_EQ(parsed(page), expected) << page;
}

// Pages that are XHTML write so. A browser reads the rest of the page as the text of the element.
TEST(Parser, ASlashEndsWhatIsNotShown) {
  for (std::string_view name :
       {"iframe", "title", "style", "script", "noscript", "template", "object", "video"}) {
    EXPECT_EQ(parsed(fmt::format("<{0}/><p>a", name)), fmt::format("<{0}></{0}><p>a</p>", name));
    EXPECT_EQ(parsed(fmt::format("<{0} src=x /><p>a", name)).substr(0, 5),
              fmt::format("<{}", name).substr(0, 5));
  }
  EXPECT_EQ(parsed("<div/>a</div>b"), "<div>a</div>b");
  EXPECT_EQ(parsed("<p/>a<p>b"), "<p>a</p><p>b</p>");
  EXPECT_EQ(parsed("<x-a/>a"), "<>a</>");
}

TEST(Parser, Tokens) {
  const std::pair<const char*, const char*> cases[] = {
      {"a<b", "a"},
      {"a < b <3 <", "a < b <3 <"},
      {"a</", "a</"},
      {"a</>b</ c>d", "abd"},
      {"a<!b>c<?d>e<!>f", "acef"},
      {"a<!--b--!>c<!-->d<!--->e<!--f--><!-- -- > -->g<!--h", "acdeg"},
      {"<p class='a>b' id=\"c>d\" hidden>e", "<p 0=a>b 1=c>d 3=>e</p>"},
      {"<p CLASS=a class=b Aria-Modal=c ARIA-MODAL-x=d =id=e>f", "<p 0=a 5=c>f</p>"},
      {"<p class = a/b id=&amp;&copy;&copy=1 style>c", "<p 0=a/b 1=&\u00a9&copy=1 2=>c</p>"},
      {"<p class=\"a", ""},
      {"<SCRIPT>a</script x>b", "<script>a</script>b"},
      {"<script>a<!--<script>b</script>c--></script>d", "<script>a<!--<script>b</script>c--></script>d"},
      {"<script><!--></script>a", "<script><!--></script>a"},
      {"<script>'</scripts>'</script>a", "<script>'</scripts>'</script>a"},
      {"<textarea>&lt;b>&notit;</textarea>a", "<textarea><b>\u00acit;</textarea>a"},
      {"<style>&lt;</style>&lt;", "<style>&lt;</style><"},
      {"<xmp><p></xmp>a<plaintext><p></plaintext>", "<xmp><p></xmp>a<plaintext><p></plaintext></plaintext>"},
      {"<h\x11>a", "<>a</>"},
  };
  for (const auto& [page, expected] : cases) EXPECT_EQ(parsed(page), expected) << page;
}

// Names and delimiters at each place of the eight bytes that are looked at together, up to the end of the
// page.
TEST(Parser, EveryPlaceOfTheBytesReadTogether) {
  for (size_t before = 0; before < 20; ++before) {
    for (size_t behind = 0; behind < 12; ++behind) {
      const std::string a(before, 'x'), b(behind, 'y');
      EXPECT_EQ(parsed(a + "<P>" + b), a + "<p>" + b + "</p>");
      EXPECT_EQ(parsed(a + "&amp;" + b + "<"), a + "&" + b + "<");
      EXPECT_EQ(parsed(a + "<BlockQuote ID=Q>" + b), a + "<blockquote 1=Q>" + b + "</blockquote>");
    }
  }
}

std::string times(std::string_view part, int count) {
  std::string out;
  for (int i = 0; i < count; ++i) out += part;
  return out;
}

// Each tag takes constant time: 500 open elements cost an end tag nothing.
TEST(Parser, ATagTakesConstantTime) {
  for (std::string_view open : {"<i>", "<x-a>", "<div>", "<svg>", "<a>", "<ul><li>", "<template>"}) {
    for (std::string_view part :
         {"</i>", "</b>", "</x-b>", "</div>", "</li>", "</td>", "</p>", "</a>", "<p>", "<li>", "<a>"}) {
      const std::string page = times(open, 200) + times(part, 100'000);
      Written events;
      HtmlParser parser;
      (void)parser.parse(page, events);
      EXPECT_LT(parser.steps(), 700'000u) << open << part;
    }
  }
}

}  // namespace
}  // namespace doppel

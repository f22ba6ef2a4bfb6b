// Pages that servers sent while rendering them, as the frameworks write them; and those that are only there
// once scripts have run.

#include "formats/html/html_streamed.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <chrono>

#include "base/status.h"
#include "formats/html/html.h"

namespace doppel {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string text_of(std::string_view html, Extract what = Extract::visible) {
  HtmlExtractor extractor;
  auto text = extractor.text(html, what);
  return text.ok() ? std::string(*text) : std::string(std_sv(text.status().message()));
}

std::string why(std::string_view html, Extract what) {
  HtmlExtractor extractor;
  EXPECT_TRUE(extractor.text(html, what).ok());
  const Reason reason = extractor.why_unscored();
  return reason == Reason::none ? "" : message_of(reason);
}

// React 18 and 19: the function that completes a boundary, without irrelevant parts.
constexpr std::string_view kReact18 =
    "$RC=function(b,c,e){c=document.getElementById(c);c.parentNode.removeChild(c);var "
    "a=document.getElementById(b);if(a){b=a.previousSibling;e=b.parentNode;for(;c.firstChild;)e.insertBefore("
    "c.firstChild,a);b.data=\"$\"}};";
constexpr std::string_view kReact19 =
    "$RB=[];$RV=function(a){$RT=performance.now();for(var b=0;b<a.length;b+=2){var "
    "c=a[b],e=a[b+1];for(;e.firstChild;)f.insertBefore(e.firstChild,c)}a.length=0};$RC=function(a,b){if(b="
    "document.getElementById(b))(a=document.getElementById(a))?(a.previousSibling.data=\"$~\",$RB.push(a,b)"
    "):b.parentNode.removeChild(b)};";

TEST(Streamed, ReactPutsAPartBehindItsTemplate) {
  for (std::string_view runtime : {kReact18, kReact19}) {
    const std::string page = fmt::format(
        "<html><body><nav>Menu</nav><main><!--$?--><template id=\"B:0\"></template><p>Loading</p><!--/$-->"
        "</main><footer>Footer</footer><div hidden id=\"S:0\"><p>The text of the page</p></div>"
        "<script>{}$RC(\"B:0\",\"S:0\")</script></body></html>",
        runtime);
    EXPECT_EQ(text_of(page), "Menu\nThe text of the page\nFooter");
  }
}

TEST(Streamed, PartsOfPartsFindTheirPlaces) {
  const std::string page = fmt::format(
      "<main><!--$--><template id=\"P:1\"></template><p>kept</p><!--/$--><!--$?--><template "
      "id=\"B:0\"></template>"
      "<!--$--><i>Wait</i><!--/$--><!--/$--></main><p>End</p>"
      "<div hidden id=\"S:0\"><h1>One</h1><!--$?--><template id=\"B:2\"></template>Wait more<!--/$--></div>"
      "<script>{}$RC(\"B:0\",\"S:0\")</script>"
      "<div hidden id=\"S:2\"><div><p>Two</p></div></div><script>$RC(\"B:2\",\"S:2\")</script>"
      "<div hidden id=\"S:1\">Zero</div><script>$RS=function(a,b){{a.parentNode.insertBefore(a,b)}};"
      "$RS(\"S:1\",\"P:1\")</script>",
      kReact18);
  EXPECT_EQ(text_of(page), "Zero\nkept\nOne\nTwo\nEnd");
}

TEST(Streamed, RowsComeInAHiddenTable) {
  EXPECT_EQ(text_of("<table><tr><td>a</td></tr><tbody><template id=\"P:1\"></template></tbody></table>"
                    "<table hidden><tbody id=\"S:1\"><tr><td>b</td></tr></tbody></table>"
                    "<script>$RS(\"S:1\",\"P:1\")</script>"),
            "a\nb");
}

TEST(Streamed, ReactsRuntimeMayBeAFile) {
  EXPECT_EQ(
      text_of("<main><!--$?--><template id=\"B:0\"></template>Wait<!--/$--></main><p>End</p>"
              "<div hidden id=\"S:0\">Text</div><template data-rci=\"\" data-bid=\"B:0\" data-sid=\"S:0\">"
              "</template>"),
      "Text\nEnd");
  // The place is an empty template: then no script has to define the function.
  EXPECT_EQ(
      text_of("<main><!--$?--><template id=\"xB:0\"></template>Wait<!--/$--></main><p>End</p>"
              "<div hidden id=\"xS:0\">Text</div><script src=r.js></script><script>$RC(\"xB:0\",\"xS:0\")"
              "</script>"),
      "Text\nEnd");
}

TEST(Streamed, SolidMovesATemplate) {
  EXPECT_EQ(
      text_of("<main><template id=\"pl-0-1\"></template><span>Wait</span><!--pl-0-1--></main><p>End</p>"
              "<template id=\"0-1\"><p>Text</p></template><script>$df(\"0-1\");function $df(e,n,o,t){if(n="
              "document.getElementById(e),o=document.getElementById(\"pl-\"+e)){for(;o&&8!==o.nodeType;)t="
              "o.nextSibling,o.remove(),o=t;o.replaceWith(n.content)}n.remove()}</script>"),
      "Text\nEnd");
}

TEST(Streamed, MarkoMakesTheIdsItself) {
  EXPECT_EQ(
      text_of("<main><noscript id=\"afph0\"></noscript></main><p>End</p>"
              "<div id=\"af0\" style=\"display:none\"><p>Text</p></div><script>$af=function(a,b){b="
              "document.getElementById(\"af\"+a);var c=document.getElementById(\"afph\"+a);for(;b.firstChild;"
              ")c.parentNode.insertBefore(b.firstChild,c)};$af(0)</script>"),
      "Text\nEnd");
}

TEST(Streamed, AScriptBehindATemplateMayMoveIt) {
  EXPECT_EQ(
      text_of(
          "<main><!--s-0-0o-->Wait<!--s-0-0c--></main><template id=\"0-0f\"><p>Text</p></template><script>"
          "(function(){let id=\"0-0\";let tpl=document.getElementById(id+\"f\");"
          "close.parentNode.insertBefore(tpl.content.cloneNode(true),close)})()</script>"),
      "Wait\nText");
}

TEST(Streamed, TemplatesThatBrowsersShow) {
  EXPECT_EQ(
      text_of(
          "<my-page><template shadowrootmode=\"open\"><p>In the shadow</p><slot></slot></template><p>In the "
          "light</p></my-page>"),
      "In the shadow\n"
      "In the light");
  EXPECT_EQ(
      text_of(
          "<turbo-stream action=\"append\" target=\"list\"><template><p>New</p></template></turbo-stream>"),
      "New");
}

TEST(Streamed, WhatNoScriptMovesStaysHidden) {
  for (
      std::string_view page : {
          // A function that shows a part does not move it, and the effect of an unknown function is unknown.
          "<div id=\"m\" hidden>no</div><script>show(\"m\")</script>yes",
          "<div id=\"m\" hidden>no</div><script>function show(a){a.hidden=false}show(\"m\")</script>yes",
          // Runs only when somebody clicks.
          R"(<div id="m" hidden>no</div><script>function f(a){b.appendChild(a)}on(function(){f("m")})</script>yes)",
          "<div id=\"m\" hidden>no</div><script>function f(a){b.appendChild(a)} // f(\"m\")\n</script>yes",
          "<div id=\"m\" hidden>no</div><script>function f(a){b.appendChild(a)} x='f(\"m\")'</script>yes",
          "<template id=\"row\"><p>no</p></template><script>var t=1</script>yes",
          "<div id=\"S:0\" hidden>no</div><script>$RC(\"B:0\",\"S:0\")</script>yes",
          "<div hidden>no</div><script>$RC(\"B:0\",\"S:0\")</script>yes",
      }) {
    EXPECT_EQ(text_of(page), "yes") << page;
  }
}

// A crawler may have removed all scripts.
TEST(Streamed, WithoutScriptsAPartIsShownWhereItIs) {
  const std::string page =
      "<main><template id=\"B:0\"></template><p>Loading</p></main><footer>Footer</footer>"
      "<div hidden id=\"S:0\"><p>The text of the page</p></div><div hidden id=\"S:1f\">and more</div>";
  EXPECT_EQ(text_of(page), "Loading\nFooter\nThe text of the page\nand more");
  EXPECT_EQ(text_of("<div hidden id=\"S:no\">no</div><div hidden id=S:>no</div>yes"), "yes");
  EXPECT_EQ(text_of(page + "<script>start()</script>"), "Loading\nFooter");
}

// A reader unfolds them. What a page shows at first is `visible`.
TEST(Folded, MainHasTabsAndSections) {
  std::string text = "<h1>Comets</h1>";
  for (int i = 0; i < 5; ++i)
    text +=
        fmt::format("<p>Part {} is about a comet, which nobody in the valley had seen before that.</p>", i);
  const std::string folded =
      "because the older people had told them about it, and that it had been as large as a barn.</p>";
  for (const std::string& part :
       {"<div role=tabpanel hidden><p>Tab, " + folded + "</div>",
        "<div role=region aria-labelledby=b style=\"display: none\"><p>Tab, " + folded + "</div>",
        "<div style=\"display:none\"><div role=region aria-labelledby=b><p>Tab, " + folded +
            "</div></div>"}) {
    const std::string page = "<main>" + text + part + text + "</main>";
    EXPECT_THAT(text_of(page, Extract::main), HasSubstr("Tab, because the older")) << part;
    EXPECT_THAT(text_of(page), Not(HasSubstr("Tab, because"))) << part;
  }
  for (const std::string& part :
       {"<div hidden role=region aria-label=Cookies><p>Tab, " + folded + "</div>",
        "<div hidden><p>Tab, " + folded + "</div>",
        "<div hidden><div><div role=tabpanel><p>Tab, " + folded + "</div></div></div>",
        "<template><div role=tabpanel><p>Tab, " + folded + "</div></template>"}) {
    EXPECT_THAT(text_of("<main>" + text + part + text + "</main>", Extract::main),
                Not(HasSubstr("Tab, because")))
        << part;
  }
}

// Different articles between the same menu and footer.
TEST(Streamed, MainIsThePartThatWasMoved) {
  const auto page = [](std::string_view topic) {
    std::string text;
    for (int i = 0; i < 12; ++i)
      text += fmt::format("<p>Paragraph {} is about {}, which nobody else has written about.</p>", i, topic);
    return fmt::format(
        "<header><nav><a href=/>Home</a> <a href=/a>All of our articles</a></nav></header><main><!--$?-->"
        "<template id=\"B:0\"></template><!--/$--></main><footer><p>We are a company that makes software for "
        "people"
        " who write articles, and this paragraph is below each of them.</p></footer>"
        "<div hidden id=\"S:0\"><article>{}</article></div><script>{}$RC(\"B:0\",\"S:0\")</script>",
        text, kReact19);
  };
  const std::string lakes = text_of(page("lakes"), Extract::main);
  EXPECT_THAT(lakes, HasSubstr("Paragraph 11 is about lakes"));
  EXPECT_THAT(lakes, Not(HasSubstr("We are a company")));
  EXPECT_NE(lakes, text_of(page("maps"), Extract::main));
}

TEST(Streamed, BombsEndSoon) {
  const auto repeated = [](std::string_view part, int times) {
    std::string out;
    for (int i = 0; i < times; ++i) out += fmt::format(fmt::runtime(part), i);
    return out;
  };
  const std::string mover =
      "<script>function f(a){\"a1\",\"b1\",\"c1\",\"d1\",\"e1\",\"f1\",b.appendChild(a)}</script>";
  const auto begin = std::chrono::steady_clock::now();
  std::string out;
  // Each part inside the previous one, all moved; each after the other; a call of a different function for
  // each; names.
  place_moved_parts(mover + repeated("<p hidden id=p{0}>", 50'000) + repeated("</p>", 50'000), out);
  place_moved_parts(mover + repeated("<p hidden id=p{0}>x</p><script>f(\"p{0}\")</script>", 20'000), out);
  place_moved_parts(mover + repeated("<p hidden id=p{0}>x</p><script>g{0}(\"p{0}\")</script>", 20'000), out);
  place_moved_parts(mover + repeated("<p hidden id=p{0}>x</p><script>f({0})</script>", 20'000), out);
  place_moved_parts(
      mover + repeated("<template id=b{0}></template><p hidden id=p{0}>x<template id=b1{0}></template>"
                       "</p><script>f(\"p{0}\",\"b{0}\")</script>",
                       20'000),
      out);
  place_moved_parts(repeated("<script>f(\"", 50'000) + repeated("<!--", 50'000), out);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(20));
}

constexpr std::string_view kScript = "<script src=app.js></script>";
constexpr std::string_view kText =
    "The exhibition of old maps opened on Monday morning in the town hall, and more people came than anybody "
    "had expected. The oldest of the sheets was drawn five hundred years ago by a monk who never left his "
    "valley, and yet the coast on it is nearly right.";

TEST(NeedsJavaScript, PagesThatSaySo) {
  for (const std::string& page : {
           fmt::format("{}<div id=root></div>", kScript),
           fmt::format("<body>{}", kScript),
           fmt::format("<head><title>Maps</title></head><app-root></app-root>{}", kScript),
           fmt::format("<div><div id=app>\n </div></div><p>Loading</p>{}", kScript),
           fmt::format("<noscript>You need to enable JavaScript.</noscript><p>Loading</p>{}", kScript),
           fmt::format("<p>Please turn JavaScript on and reload the page.</p>{}", kScript),
           fmt::format("<p>Please enable JS and disable any ad blocker</p>{}", kScript),
           fmt::format("<noscript>Для работы сайта включите <b>JavaScript</b>.</noscript>{}", kScript),
           fmt::format(
               "<noscript><h1>JavaScript is not available.</h1><p>We have seen that JavaScript is off "
               "in this browser. Please turn it on, or use another browser. The Help Center has a list "
               "of all browsers that you can use here, if you want to go on.</p><p>Terms</p><p>Privacy</p>"
               "</noscript><div id=root></div>{}",
               kScript),
       }) {
    EXPECT_EQ(why(page, Extract::main), "needs_javascript") << page;
    EXPECT_EQ(why(page, Extract::visible), "needs_javascript") << page;
  }
}

TEST(NeedsJavaScript, OtherPagesDoNot) {
  const std::string text = fmt::format("<article><p>{0}</p><p>{0} More.</p></article>", kText);
  for (const std::string& page : {
           text + std::string(kScript) +
               "<noscript>Enable JavaScript for comments.</noscript><div id=root></div>",
           fmt::format("<div id=root></div><noscript>{}<p>JavaScript would show more.</p></noscript>{}", text,
                       kScript),
           "<h1>JavaScript</h1>" + text + std::string(kScript),
           std::string("<h1>Opening hours</h1><p>From nine to five.</p>"),
           std::string("<h1>A course about JavaScript</h1><p>On Monday, from nine to five.</p>"),
       }) {
    EXPECT_EQ(why(page, Extract::main), "") << page;
    EXPECT_EQ(why(page, Extract::visible), "") << page;
  }
  // There is little text, but nothing says that scripts make it.
  const std::string little =
      "<h1>Opening hours</h1><p>From nine to five, on all days.</p>" + std::string(kScript);
  EXPECT_EQ(why(little, Extract::main), "fallback");
  EXPECT_EQ(why(little, Extract::visible), "");
  const std::string more = little + "<div id=map></div><p>On holidays we open at ten.</p>";
  EXPECT_EQ(why(more, Extract::visible), "");
  // The data has the text.
  const std::string data = fmt::format(
      "<script type=application/ld+json>{{\"articleBody\": \"{0} {0}\"}}</script><div id=root></div>"
      "<noscript>Enable JavaScript.</noscript>",
      kText);
  EXPECT_EQ(why(data, Extract::main), "");
  EXPECT_EQ(why(data, Extract::visible), "needs_javascript");
}

}  // namespace
}  // namespace doppel

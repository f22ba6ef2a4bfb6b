// Pages that are made to cost more than others of their size.

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "base/status.h"
#include "formats/html/html.h"

namespace doppel {
namespace {

using testing::HasSubstr;

std::string extracted(std::string_view html, Extract what) {
  HtmlExtractor extractor;
  auto text = extractor.text(html, what);
  return text.ok() ? std::string(*text) : std::string(std_sv(text.status().message()));
}
std::string visible(std::string_view html) { return extracted(html, Extract::visible); }
std::string main_of(std::string_view html) { return extracted(html, Extract::main); }

std::string repeated(std::string_view part, int times) {
  std::string out;
  for (int i = 0; i < times; ++i) out += part;
  return out;
}

// Each of these takes minutes if the work grows with the square of the page.
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

// Steps count tags, elements closed and elements compared: per byte, a long page must take no more than a
// short one, and a tag a constant number.
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
    EXPECT_LT(per_byte[1], 1.5) << part;
    EXPECT_LT(per_byte[1], per_byte[0] * 1.5 + 1) << part;
  }
}

struct Hostile {
  const char* name;
  std::string (*page)(int parts);
};

std::string data_page(const std::string& shown, const std::string& json) {
  return "<script type=application/ld+json>" + json + "</script><article>" + shown + "</article>";
}

std::string sentence(int i) {
  return fmt::format(
      "Number {} is a line that is long enough to be looked for in the data of the page, which "
      "publishers write for machines.",
      i);
}

const Hostile kHostile[] = {
    {"nested",
     [](int n) { return repeated(repeated("<div>", 500) + "x" + repeated("</div>", 500), n / 500); }},
    {"nested again", [](int n) { return repeated("<div>", 480) + repeated("<p>x<section>y</section>", n); }},
    {"attributes",
     [](int n) {
       std::string out = "<div ";
       for (int i = 0; i < n; ++i) out += fmt::format("class=a{} ", i);
       return out + ">x";
     }},
    {"classes", [](int n) { return "<div class=\"" + repeated("sidebar-menu ", n) + "\">x</div>"; }},
    {"open tables",
     [](int n) {
       return repeated(repeated("<table><tr><td>", 100) + "</div>" + repeated("</table>", 100), n / 100);
     }},
    {"tables without cells", [](int n) { return repeated("<table><tr></td></tbody>", n); }},
    {"formatting",
     [](int n) { return repeated(repeated("<b><i><u><a href=x>", 100) + "<p>x</b></p>", n / 100); }},
    {"formatting that is open",
     [](int n) { return repeated("<b><i><u>", 150) + repeated("<p>x</b></i><a>y<p>", n); }},
    {"unknown elements", [](int n) { return repeated("<x-a>", 400) + repeated("</x-b>", n); }},
    {"leads that are none",
     [](int n) {
       return "<h1>Title</h1>" + repeated("<div>", 450) + "<div class=sidebar>" + repeated("<div>", 20) +
              repeated("<p>A paragraph of the sidebar, which is long enough for a lead.</p>", n) +
              repeated("</div>", 471) + "<article><p>" + sentence(1) + sentence(2) + "</p></article>";
     }},
    {"products",
     [](int n) {
       return data_page("<p>x",
                        R"({"@type": ["CreativeWork", )" + repeated(R"("Product", )", n) + R"("x"]})");
     }},
    {"products in a list that is open",
     [](int n) { return data_page("<p>x", R"(["CreativeWork"] )" + repeated(R"("Product" )", n)); }},
    {"lines of the data",
     [](int n) {
       std::string shown, body;
       for (int i = 0; i < n / 10; ++i) {
         shown += "<p>" + sentence(i) + "</p>";
         body += sentence(n + i) + " " + sentence(2 * n + i) + " " + sentence(3 * n + i) + " ";
       }
       return data_page(shown, R"({"@type": "NewsArticle", "articleBody": ")" + body + "\"}");
     }},
    {"parts that scripts move",
     [](int n) {
       return repeated("<p hidden id=p>x</p><script>f('p')</script>", n) +
              "<script>f=function(a){b.appendChild(a)}";
     }},
};

// Whatever a page is made of, a byte of it costs a constant number of steps.
TEST(Bombs, AByteCostsAConstantNumberOfSteps) {
  constexpr double kSteps = 12;
  for (const Hostile& hostile : kHostile) {
    for (const int parts : {2'000, 20'000}) {
      const std::string page = hostile.page(parts);
      HtmlExtractor extractor;
      for (const Extract what : {Extract::visible, Extract::main}) {
        ASSERT_TRUE(extractor.text(page, what).ok()) << hostile.name;
        EXPECT_LT(static_cast<double>(extractor.steps()) / static_cast<double>(page.size()), kSteps)
            << hostile.name << ", " << page.size() << " bytes";
      }
    }
  }
}

}  // namespace
}  // namespace doppel

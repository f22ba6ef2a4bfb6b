// Verdicts by `visible` and by `main`, on pairs whose answer is known: pages of a dozen site templates, which
// differ in how much boilerplate there is and in how (or whether) they mark it. The table in
// docs/pipelines.md is this test's output.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "formats/html/html.h"
#include "text/shingler.h"

namespace doppel {
namespace {

using Random = std::mt19937_64;

std::string word(Random& random) {
  static const std::vector<std::string> words = [] {
    Random seeded(3);
    std::vector<std::string> all(3000);
    for (std::string& w : all) {
      for (size_t n = 2 + seeded() % 8; n > 0; --n) w += static_cast<char>('a' + seeded() % 26);
    }
    return all;
  }();
  // Some words are frequent.
  return random() % 2 == 0 ? words[random() % 100] : words[random() % words.size()];
}

std::string words(Random& random, size_t count) {
  std::string out;
  for (size_t i = 0; i < count; ++i) out += (i == 0 ? "" : " ") + word(random);
  return out;
}

std::string links(Random& random, size_t count, std::string_view element) {
  std::string out;
  for (size_t i = 0; i < count; ++i) {
    out += fmt::format("<{0}><a href=\"/{1}\">{2}</a></{0}>", element, i, words(random, 1 + random() % 4));
  }
  return out;
}

struct Article {
  std::string title;
  std::vector<std::string> paragraphs;

  std::string html(std::string_view p) const {
    std::string out;
    for (const std::string& paragraph : paragraphs) out += fmt::format("<{0}>{1}</{0}>\n", p, paragraph);
    return out;
  }
};

Article article(Random& random, size_t count) {
  Article out{words(random, 6), {}};
  for (size_t left = count; left > 0;) {
    const size_t n = std::min<size_t>(left, 25 + random() % 60);
    out.paragraphs.push_back(words(random, n) + ".");
    left -= n;
  }
  return out;
}

// Replaces about one word in a hundred.
Article edited(const Article& original, Random& random) {
  Article out = original;
  for (std::string& paragraph : out.paragraphs) {
    if (random() % 2 == 0) paragraph = word(random) + paragraph.substr(paragraph.find(' '));
  }
  return out;
}

struct Template {
  std::string_view name;
  bool heavy;  // a short article has more boilerplate than text
  std::string (*page)(const Article&, uint64_t site, Random& visit);
};

// Everything that is the same on all pages of a site comes from `site`, and everything that changes with each
// visit from `visit`.
const Template kTemplates[] = {
    {"bare", false,
     [](const Article& a, uint64_t, Random&) {
       return fmt::format("<html><body><h1>{}</h1>{}</body></html>", a.title, a.html("p"));
     }},
    {"semantic, light", false,
     [](const Article& a, uint64_t site, Random&) {
       Random s(site);
       return fmt::format(
           "<header>{}</header><nav><ul>{}</ul></nav><main><h1>{}</h1>{}</main><footer>{}</footer>",
           words(s, 8), links(s, 8, "li"), a.title, a.html("p"), words(s, 20));
     }},
    {"semantic, heavy", true,
     [](const Article& a, uint64_t site, Random& visit) {
       Random s(site);
       return fmt::format(
           "<header>{}<nav><ul>{}</ul></nav></header><article><h1>{}</h1>{}</article><aside><h2>{}</h2>{}</"
           "aside>"
           "<footer><p>{}</p><ul>{}</ul></footer>",
           words(s, 30), links(s, 120, "li"), a.title, a.html("p"), words(s, 3), links(visit, 10, "p"),
           words(s, 300), links(s, 60, "li"));
     }},
    {"divs with classes", true,
     [](const Article& a, uint64_t site, Random& visit) {
       Random s(site);
       return fmt::format(
           "<div id=\"topNav\">{}</div><div class=\"wrapper\"><div class=\"content\"><h1>{}</h1>{}</div>"
           "<div class=\"sidebar right\"><p>{}</p><p>{}</p></div></div><div "
           "class=\"site-footer\"><p>{}</p></div>",
           links(s, 80, "span"), a.title, a.html("p"), words(s, 200), words(visit, 12), words(s, 250));
     }},
    {"divs without classes", true,
     [](const Article& a, uint64_t site, Random&) {
       Random s(site);
       return fmt::format("<div>{}</div><div><h1>{}</h1>{}</div><div>{}</div><div>{}</div>",
                          links(s, 150, "li"), a.title, a.html("p"), links(s, 100, "p"), links(s, 80, "div"));
     }},
    {"table layout", true,
     [](const Article& a, uint64_t site, Random& visit) {
       Random s(site);
       return fmt::format(
           "<table><tr><td colspan=2>{}</td></tr><tr><td>{}</td><td><h2>{}</h2>{}</td></tr><tr><td>{} "
           "{}</td></tr>"
           "</table>",
           links(s, 20, "b"), links(s, 150, "div"), a.title, a.html("p"), words(visit, 5), words(s, 10));
     }},
    {"line breaks", false,
     [](const Article& a, uint64_t site, Random&) {
       Random s(site);
       std::string body;
       for (const std::string& p : a.paragraphs) body += p + "<br><br>";
       return fmt::format("<div class=menu>{}</div><div><b>{}</b><br>{}</div><div class=copyright>{}</div>",
                          links(s, 12, "span"), a.title, body, words(s, 15));
     }},
    {"related teasers", true,
     [](const Article& a, uint64_t site, Random& visit) {
       Random s(site);
       std::string related;
       for (int i = 0; i < 12; ++i) {
         related += fmt::format("<div><h3><a href=/r>{}</a></h3><p>{} <a href=/r>{}</a></p></div>",
                                words(visit, 6), words(visit, 18), words(visit, 2));
       }
       return fmt::format(
           "<ul class=\"main-menu\">{}</ul><article><h1>{}</h1>{}</article><div class=\"related\">{}</div>",
           links(s, 40, "li"), a.title, a.html("p"), related);
     }},
    {"cookie notice", true,
     [](const Article& a, uint64_t site, Random&) {
       Random s(site);
       std::string notice;
       for (int i = 0; i < 8; ++i) notice += fmt::format("<p>{}</p>", words(s, 60));
       return fmt::format("<div id=\"cookie-consent\">{}</div><div role=\"main\"><h1>{}</h1>{}</div>", notice,
                          a.title, a.html("p"));
     }},
    {"hidden menus", false,
     [](const Article& a, uint64_t site, Random&) {
       Random s(site);
       return fmt::format(
           "<script>var a=\"{}\";</script><div "
           "style=\"display:none\">{}</div><h1>{}</h1>{}<noscript>{}</noscript>",
           words(s, 80), links(s, 60, "li"), a.title, a.html("p"), words(s, 30));
     }},
    {"print version", false,
     [](const Article& a, uint64_t site, Random& visit) {
       Random s(site);
       return fmt::format("<p>{}</p><h1>{}</h1>{}<p>http://example.com/{}</p>", words(s, 5), a.title,
                          a.html("div"), visit());
     }},
    {"comments", true,
     [](const Article& a, uint64_t site, Random& visit) {
       Random s(site);
       std::string below;
       for (int i = 0; i < 3; ++i)
         below += fmt::format("<li><a href=#>{}</a> {}</li>", words(visit, 2), words(visit, 8));
       return fmt::format(
           "<div class=masthead>{}</div><div class=\"entry-content\"><h1>{}</h1>{}</div><div class=\"share "
           "social\">{}"
           "</div><ol>{}</ol><div class=\"footer-widgets\">{}</div>",
           links(s, 60, "span"), a.title, a.html("p"), links(s, 12, "span"), below, links(s, 120, "li"));
     }},
};
constexpr size_t kCount = std::size(kTemplates);

class Measured {
 public:
  std::set<uint64_t> shingles(const std::string& html, Extract what) {
    auto text = extractor_.text(html, what);
    EXPECT_TRUE(text.ok());
    PodVector<uint64_t> hashes;
    shingler_.update(*text, hashes);
    shingler_.finish(hashes);
    return {hashes.begin(), hashes.end()};
  }
  bool copies(const std::string& a, const std::string& b, Extract what) {
    const std::set<uint64_t> x = shingles(a, what);
    const std::set<uint64_t> y = shingles(b, what);
    std::vector<uint64_t> both;
    std::set_intersection(x.begin(), x.end(), y.begin(), y.end(), std::back_inserter(both));
    return both.size() * 10 >= (x.size() + y.size() - both.size()) * 8 && !x.empty();
  }

 private:
  HtmlExtractor extractor_;
  Shingler shingler_{HashKey{1, 2}, 5};
};

struct Score {
  int found = 0, missed = 0, wrong = 0;
  void add(bool truth, bool verdict) {
    found += truth && verdict ? 1 : 0;
    missed += truth && !verdict ? 1 : 0;
    wrong += !truth && verdict ? 1 : 0;
  }
  double precision() const { return found + wrong == 0 ? 1 : static_cast<double>(found) / (found + wrong); }
  double recall() const { return found + missed == 0 ? 1 : static_cast<double>(found) / (found + missed); }
};

TEST(ExtractQuality, MainIsBetterWhereBoilerplateIsMuchAndNoWorseElsewhere) {
  Measured measured;
  Random random(20240506);
  // [extract][group]: pages with little boilerplate, pages with much
  std::array<std::array<Score, 2>, 3> scores;
  int pairs = 0;
  auto judge = [&](const std::string& a, const std::string& b, bool truth, bool heavy) {
    ++pairs;
    for (Extract what : {Extract::none, Extract::visible, Extract::main}) {
      scores[static_cast<size_t>(what)][heavy ? 1 : 0].add(truth, measured.copies(a, b, what));
    }
  };
  for (size_t round = 0; round < 6; ++round) {
    for (size_t t = 0; t < kCount; ++t) {
      const Template& first = kTemplates[t];
      const Template& second = kTemplates[(t + 1 + round) % kCount];
      const size_t length = 80 + 120 * round;
      const Article a = article(random, length);
      const Article copy = edited(a, random);
      const Article other = article(random, length);
      const uint64_t site = t + 1;
      // The same article once more on its site, then on another site; and another article on the same site.
      judge(first.page(a, site, random), first.page(copy, site, random), true, first.heavy);
      judge(first.page(a, site, random), second.page(copy, site + 100, random), true,
            first.heavy || second.heavy);
      judge(first.page(a, site, random), first.page(other, site, random), false, first.heavy);
      judge(first.page(a, site, random), second.page(other, site + 100, random), false,
            first.heavy || second.heavy);
      judge(first.page(other, site, random), first.page(article(random, length / 2), site, random), false,
            first.heavy);
    }
  }
  EXPECT_GE(pairs, 300);
  std::string table;
  for (Extract what : {Extract::none, Extract::visible, Extract::main}) {
    const auto& [light, heavy] = scores[static_cast<size_t>(what)];
    table += fmt::format("| `{}` | {:.3f} | {:.3f} | {:.3f} | {:.3f} |\n",
                         what == Extract::none      ? "none"
                         : what == Extract::visible ? "visible"
                                                    : "main",
                         light.precision(), light.recall(), heavy.precision(), heavy.recall());
  }
  RecordProperty("table", table);
  fmt::print("{} pairs\n{}", pairs, table);
  const auto& visible = scores[static_cast<size_t>(Extract::visible)];
  const auto& main = scores[static_cast<size_t>(Extract::main)];
  EXPECT_GE(main[0].precision(), visible[0].precision());
  EXPECT_GE(main[0].recall(), visible[0].recall());
  EXPECT_GT(main[1].precision() + main[1].recall(), visible[1].precision() + visible[1].recall());
  EXPECT_GT(main[1].precision(), .95);
  EXPECT_GT(main[1].recall(), .9);
}

}  // namespace
}  // namespace doppel

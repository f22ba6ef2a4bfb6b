#include "formats/html_marks.h"

#include <algorithm>
#include <array>
#include <cstddef>

namespace doppel {
namespace {

// Words of a class or id, alone or two in a row: "main-nav", "nav_left", "siteFooter", "postDate".
constexpr std::string_view kBoilerplateWords =
    "nav, navbar, navigation, menu, footer, sidebar, breadcrumb, breadcrumbs, cookie, cookies, banner, "
    "share, sharing, social, related, pagination, pager, paging, widget, widgets, advert, ads, ad, "
    "advertisement, sponsored, newsletter, subscribe, signup, promo, masthead, topbar, recommended, "
    "recommendations, toolbar, copyright, disclaimer, consent, gdpr, teaser, teasers, trending, popular, "
    "outbrain, taboola, more, latest, recirc, byline, author, tags, timestamp, meta, credit, published, "
    "dateline, bio, caption, snippet, factbox, infobox, postmetadata, postmeta, appendix, "
    "affiliate, shop, authors, imagedescription, img description, image description, publication info, "
    "post info, article info, pubdate, postdate, post date, entry date, article date, publish date, "
    "werbung, anzeige, publicidad, relacionadas, addtoany, sharedaddy, jp relatedposts, "
    "relatedposts, readmore, recommend, hashtags, screen reader, sr only, visually hidden, skip link, "
    "paywall, app section, newsletters, donate, donation, signin, login, licence, license, modal, "
    "popup, tooltip, lightbox, carousel, slider";
constexpr std::string_view kCommentWords =
    "comment, comments, commentlist, disqus, respond, replies, commentary, kommentare, comentarios, "
    "commentaires, reacties, commenti, livefyre, responses";
constexpr std::string_view kContentWords =
    "articlebody, entry content, post content, article body, story body, mw content, article content, "
    "post body, entrycontent, postcontent, storybody, postbody, articlecontent";
constexpr std::string_view kLeadWords =
    "lead, lede, intro, introtext, introduction, standfirst, subtitle, subheadline, subhead, subheading, "
    "dek, abstract, excerpt, summary, description, bajada, chapo, vorspann, einleitung, anleser, "
    "entradilla, sottotitolo, sumario, ingress, teaser, chapeau, kicker, deck, leader, preamble";
// Around everything, by page builders; and about what is beside, by themes.
constexpr std::string_view kEmptyWords =
    "elementor widget, has sidebar, with sidebar, no sidebar, sidebar none";
constexpr Marks kMeansNothing = 128;

constexpr std::string_view kBoilerplateRoles[] = {"navigation", "banner", "contentinfo", "complementary",
                                                  "search",     "menu",   "menubar"};
constexpr size_t kLongestWord = 23;
constexpr size_t kBytesRead = 256;

constexpr char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; }

constexpr uint32_t kSeed = 2166136261u;
constexpr uint32_t mix(uint32_t hash, char c) { return (hash ^ static_cast<unsigned char>(c)) * 16777619u; }

// Of words (which may be two with a space between) to marks.
struct Entry {
  std::string_view word;
  Marks marks = 0;
};
constexpr size_t kSlots = 512;

constexpr uint32_t hash_of(std::string_view word) {
  uint32_t hash = kSeed;
  for (char c : word) hash = mix(hash, c);
  return hash;
}

constexpr std::array<Entry, kSlots> make_table() {
  std::array<Entry, kSlots> table{};
  auto put = [&table](std::string_view word, Marks marks) {
    uint32_t slot = hash_of(word) % kSlots;
    while (!table[slot].word.empty() && table[slot].word != word) slot = (slot + 1) % kSlots;
    table[slot] = {word, static_cast<Marks>(table[slot].marks | marks)};
  };
  auto put_all = [&put](std::string_view words, Marks marks) {
    while (!words.empty()) {
      const std::string_view word = words.substr(0, words.find(", "));
      put(word, marks);
      words.remove_prefix(std::min(words.size(), word.size() + 2));
    }
  };
  put_all(kBoilerplateWords, kMarkBoilerplate);
  put_all(kCommentWords, kMarkComments);
  put_all(kContentWords, kMarkContent);
  put_all(kLeadWords, kMarkLead);
  put_all(kEmptyWords, kMeansNothing);
  return table;
}

constexpr std::array<Entry, kSlots> kTable = make_table();

Marks marks_of(std::string_view words) {
  for (uint32_t slot = hash_of(words) % kSlots; !kTable[slot].word.empty(); slot = (slot + 1) % kSlots) {
    if (kTable[slot].word == words) return kTable[slot].marks;
  }
  return 0;
}

// A change from small to capital begins a word, too.
Marks marks_of_words(std::string_view value) {
  std::array<char, 2 * kLongestWord + 1> text;  // the word before, a space, the word
  size_t word = 0;                              // where the word begins
  size_t size = 0;
  Marks out = 0;
  auto flush = [&] {
    const size_t length = size - word;
    if (length == 0) return;
    const Marks pair = word > 0 ? marks_of({text.data(), size}) : 0;
    if ((pair & kMeansNothing) == 0) out |= pair | marks_of({text.data() + word, length});
    std::copy(text.begin() + static_cast<ptrdiff_t>(word), text.begin() + static_cast<ptrdiff_t>(size),
              text.begin());
    text[length] = ' ';
    word = size = length + 1;
  };
  char before = ' ';
  bool skip = false;  // the rest of a word that is too long
  for (char c : value.substr(0, kBytesRead)) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    if (!letter || (c >= 'A' && c <= 'Z' && before >= 'a' && before <= 'z')) {
      if (!skip) flush();
      skip = false;
      if (!letter && c == ' ') word = size = 0;
    }
    if (letter && !skip) {
      if (size - word == kLongestWord) {
        skip = true;
        word = size = 0;
      } else {
        text[size++] = lower(c);
      }
    }
    before = c;
  }
  if (!skip) flush();
  return out;
}

}  // namespace

Marks marks_of_element(std::string_view name) {
  if (name == "article") return kMarkContent;
  if (name == "main") return kMarkContent | kMarkMain;
  if (name == "button" || name == "select" || name == "textarea") return kMarkControl;
  if (name == "header") return kMarkBoilerplate | kMarkLead;
  for (std::string_view said : {"nav", "footer", "aside", "menu", "form", "figcaption"}) {
    if (name == said) return kMarkBoilerplate;
  }
  return 0;
}

Marks marks_of_attribute(std::string_view name, std::string_view value) {
  if (name == "class" || name == "id") return marks_of_words(value);
  if (name == "role") {
    if (value == "main") return kMarkContent | kMarkMain;
    if (value == "article") return kMarkContent;
    return std::find(std::begin(kBoilerplateRoles), std::end(kBoilerplateRoles), value) !=
                   std::end(kBoilerplateRoles)
               ? kMarkBoilerplate
               : 0;
  }
  if (name == "itemprop") {
    if (value == "articleBody") return kMarkContent | kMarkMain;
    if (value == "comment") return kMarkComments;
    if (value == "description") return kMarkLead;
    if (value == "author") return kMarkBoilerplate;
  }
  return 0;
}

}  // namespace doppel

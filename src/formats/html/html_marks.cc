#include "formats/html/html_marks.h"

#include <xxhash.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

namespace doppel {
namespace {

// Words of a class or id, one or two in a row: "main-nav", "nav_left", "siteFooter", "postDate". A long name
// is a sentence or a title ("sharing-changes-with-others"), so its words mean nothing.
constexpr size_t kShortName = 4, kShortestName = 2;  // in words of more than one letter
constexpr std::string_view kBoilerplateWords =
    "footer, sidebar, breadcrumb, breadcrumbs, related, "
    "pager, paging, advertisement, sponsored, newsletter, subscribe, masthead, topbar, recommended, "
    "recommendations, toolbar, copyright, outbrain, taboola, byline, author, "
    "meta, dateline, bio, caption, factbox, infobox, postmetadata, postmeta, affiliate, authors, "
    "imagedescription, img description, image description, publication info, post info, article info, "
    "pubdate, postdate, post date, entry date, article date, publish date, werbung, anzeige, "
    "publicidad, relacionadas, addtoany, sharedaddy, jp relatedposts, relatedposts, "
    "recommend, hashtags, screen reader, sr only, visually hidden, skip link, twitter tweet, "
    "cta, instagram media, fb post, embed preview, app section, newsletters, cookie, cookies, consent, gdpr";
// Also boilerplate, but these words also name topics, so they count only in names of one or two words.
constexpr std::string_view kSoftWords =
    "ad, advert, widget, widgets, tags, shop, latest, popular, "
    "trending, modal, popup, tooltip, lightbox, signup, snippet, credit, disclaimer, signin, login, "
    "donate, donation, social, sharing, share, appendix, timestamp, banner";
// On a page about one article or product these show other ones; elsewhere they are the content.
constexpr std::string_view kShowWords = "teaser, teasers";
constexpr std::string_view kSoftShowWords = "slider, carousel, promo";
// Boilerplate of the site, if they contain links.
constexpr std::string_view kMenuWords = "nav, navbar, navigation, menu";
// Boilerplate that all pages of a site share.
constexpr std::string_view kSiteWords = "footer, copyright, masthead, topbar";
// Dialogs that ask for something before the page is read: a word of each list, or the name of a product.
constexpr std::string_view kConsentAlone = "cookie, cookies, gdpr, ccpa";  // a dialog without a second word
constexpr std::string_view kConsentFirst = "cookie, cookies, consent, gdpr, ccpa, privacy, tracking";
constexpr std::string_view kConsentSecond =
    "banner, bar, notice, consent, popup, modal, message, alert, notification, overlay, dialog, law, "
    "manager, warning, info, settings, preferences, box, layer, prompt, hint, disclaimer, accept, wall, "
    "panel, choices";
constexpr std::string_view kConsentWords =
    "cookiebanner, cookiebar, cookienotice, cookieconsent, cookielaw, cookiealert, cookiemessage, "
    "cookiepopup, cookiewarning, cookieinfo, cookiewall, cookiebot, cookieyes, cookiefirst, cookiehub, "
    "cookiescript, consentmanager, onetrust, didomi, usercentrics, truste, trustarc, iubenda, klaro, "
    "osano, complianz, cmplz, qc cmp, tarteaucitron, axeptio, borlabs, borlabscookie, "
    "cybotcookiebotdialog, cky, moove gdpr, eu cookie, accept cookies, termly, quantcast";
constexpr std::string_view kCommentWords =
    "comment, comments, commentlist, disqus, respond, replies, commentary, kommentare, comentarios, "
    "commentaires, reacties, commenti, livefyre, responses, reviews";
constexpr std::string_view kContentWords =
    "articlebody, entry content, post content, article body, story body, mw content, article content, "
    "post body, entrycontent, postcontent, storybody, postbody, articlecontent";
constexpr std::string_view kLeadWords =
    "lead, lede, intro, introtext, introduction, standfirst, subtitle, subheadline, subhead, "
    "subheading, dek, abstract, excerpt, summary, description, bajada, chapo, vorspann, einleitung, "
    "anleser, entradilla, sottotitolo, sumario, ingress, teaser, chapeau, kicker, deck, leader, "
    "preamble";
// Page builders put these around everything; themes use them to describe the layout.
constexpr std::string_view kEmptyWords =
    "elementor widget, elementor cta, has sidebar, with sidebar, no sidebar, sidebar none";
// Words before the first hyphen of a name that says how an element looks, or what its article is about.
constexpr std::string_view kNoRole[] = {"text",   "bg",     "border", "font",     "leading",     "fill",
                                        "stroke", "ring",   "shadow", "from",     "via",         "to",
                                        "divide", "accent", "caret",  "outline",  "placeholder", "decoration",
                                        "max",    "min",    "z",      "category", "tag"};
// An element with such a name is not shown, if no other name says when it is ("md:block", "d-sm-flex").
constexpr std::string_view kHiddenNames[] = {"hidden", "u-hidden", "d-none", "hide", "uk-hidden", "ng-hide"};
constexpr Marks kMeansNothing = 512;
constexpr Marks kFirst = 1024, kSecond = 2048;  // in kConsentFirst, kConsentSecond
constexpr Marks kSoft = 8192;                   // counts only in short names
constexpr Marks kAlone = 65536;                 // in kConsentAlone
constexpr Marks kOfShortNames =
    kMarkBoilerplate | kMarkComments | kMarkConsent | kMarkSite | kMarkShow | kMarkMenu;

constexpr std::string_view kBoilerplateRoles[] = {"banner", "complementary", "search", "menu", "menubar"};
constexpr size_t kLongestWord = 23;
constexpr size_t kBytesRead = 256;

constexpr char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; }

constexpr uint32_t kSeed = 2166136261u;
constexpr uint32_t mix(uint32_t hash, char c) { return (hash ^ static_cast<unsigned char>(c)) * 16777619u; }

// Maps a word, or two with a space between, to its marks.
struct Entry {
  std::string_view word;
  Marks marks = 0;
};
constexpr size_t kSlots = 2048;

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
    table[slot] = {word, table[slot].marks | marks};
  };
  auto put_all = [&put](std::string_view words, Marks marks) {
    while (!words.empty()) {
      const std::string_view word = words.substr(0, words.find(", "));
      put(word, marks);
      words.remove_prefix(std::min(words.size(), word.size() + 2));
    }
  };
  put_all(kBoilerplateWords, kMarkBoilerplate);
  put_all(kSoftWords, kMarkBoilerplate | kSoft);
  put_all(kShowWords, kMarkShow);
  put_all(kSoftShowWords, kMarkShow | kSoft);
  put_all(kMenuWords, kMarkMenu);
  put_all(kSiteWords, kMarkBoilerplate | kMarkSite);
  put_all(kConsentAlone, kAlone);
  put_all(kConsentFirst, kFirst);
  put_all(kConsentSecond, kSecond);
  put_all(kConsentWords, kMarkBoilerplate | kMarkConsent);
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

// The words of a class or id. A change from lower to upper case also starts a word.
struct Words {
  static constexpr size_t kMost = 8;                    // the first words of a name
  std::array<char, 2 * kBytesRead> text;                // each word, followed by a space
  std::array<std::pair<size_t, size_t>, kMost> places;  // begin and size of each word
  size_t count = 0;

  std::string_view word(size_t i) const { return {text.data() + places[i].first, places[i].second}; }
  // The word and the next one.
  std::string_view pair(size_t i) const {
    return {text.data() + places[i].first, places[i].second + 1 + places[i + 1].second};
  }

  void split(std::string_view name) {
    count = 0;
    size_t size = 0;
    size_t begin = 0;
    auto flush = [&] {
      const size_t length = size - begin;
      if (length > 0 && length <= kLongestWord && count < kMost) {
        places[count++] = {begin, length};
        text[size++] = ' ';
      } else {
        size = begin;
      }
      begin = size;
    };
    char before = ' ';
    for (char c : name) {
      const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
      if (!letter || (c >= 'A' && c <= 'Z' && before >= 'a' && before <= 'z')) flush();
      if (letter) text[size++] = lower(c);
      before = c;
    }
    flush();
  }
};

bool says_no_role(std::string_view name) {
  if (name.front() == '-' || name.front() == '!' || name.find(':') != std::string_view::npos) return true;
  const size_t hyphen = name.find('-');
  return hyphen != std::string_view::npos &&
         std::find(std::begin(kNoRole), std::end(kNoRole), name.substr(0, hyphen)) != std::end(kNoRole);
}

// Build tools append a hash to names ("caption__LYZT4", "Caption-sc-1y47awc-0"), whose letters are no words.
std::string_view without_hash(std::string_view name) {
  constexpr size_t kShortestHash = 5, kLongestHash = 7;
  if (const size_t end = name.find("-sc-"); end != std::string_view::npos) return name.substr(0, end);
  const size_t end = name.rfind("__");
  if (end == std::string_view::npos) return name;
  const std::string_view hash = name.substr(end + 2);
  if (hash.size() < kShortestHash || hash.size() > kLongestHash) return name;
  const bool is_word = std::all_of(hash.begin() + 1, hash.end(), [](char c) { return c >= 'a' && c <= 'z'; });
  return is_word ? name : name.substr(0, end);
}

bool says_hidden(std::string_view name) {
  return name.ends_with("is-hidden") ||
         std::find(std::begin(kHiddenNames), std::end(kHiddenNames), name) != std::end(kHiddenNames);
}

bool says_when_shown(std::string_view name) {
  return name.find(':') != std::string_view::npos || name.starts_with("d-") ||
         name.find("show") != std::string_view::npos || name.find("visible") != std::string_view::npos;
}

Marks marks_of_name(std::string_view name) {
  if (says_no_role(name)) return 0;
  Words words;
  words.split(without_hash(name));
  // A letter in front is a prefix ("l-sidebar"); elsewhere it is a word of a sentence ("more-about-x").
  size_t long_words = 0;
  for (size_t i = 0; i < words.count; ++i) long_words += i > 0 || words.places[i].second > 1 ? 1 : 0;
  const bool is_short = long_words <= kShortName;
  Marks out = 0;
  Marks before = 0;
  for (size_t i = 0; i < words.count; ++i) {
    const Marks pair = i + 1 < words.count ? marks_of(words.pair(i)) : 0;
    if ((pair & kMeansNothing) != 0) {
      ++i;
      before = 0;
      continue;
    }
    Marks one = marks_of(words.word(i));
    if ((one & kSoft) != 0 && long_words > kShortestName) one = 0;
    out |= pair | one;
    const bool consent = (before & kFirst) != 0 && (one & kSecond) != 0;
    if (consent || (words.count == 1 && (one & kAlone) != 0)) out |= kMarkBoilerplate | kMarkConsent;
    before = one;
  }
  if (!is_short) out &= ~kOfShortNames;
  return out & ~(kFirst | kSecond | kSoft | kAlone);
}

}  // namespace

Marks marks_of_names(std::string_view value) {
  Marks out = 0;
  bool hidden = false, shown = false;
  value = value.substr(0, kBytesRead);
  while (!value.empty()) {
    const size_t end = std::min(value.find_first_of(" \t\n\r\f"), value.size());
    const std::string_view name = value.substr(0, end);
    if (!name.empty()) out |= marks_of_name(name);
    if (says_hidden(name)) {
      hidden = true;
    } else {
      shown = shown || says_when_shown(name);
    }
    value.remove_prefix(std::min(end + 1, value.size()));
  }
  return hidden && !shown ? out | kMarkBoilerplate : out;
}

Marks MarksMemory::of_names(std::string_view value) {
  if (value.size() > kLongest) return marks_of_names(value);
  if (known_.empty()) known_.resize(kKnown);
  Known& known = known_[XXH3_64bits(value.data(), value.size()) % kKnown];
  if (known.value != value) {
    known.value.assign(value);
    known.marks = marks_of_names(value);
  }
  return known.marks;
}

Marks marks_of_element(std::string_view name) {
  if (name == "article") return kMarkContent;
  if (name == "main") return kMarkContent | kMarkMain;
  if (name == "button" || name == "select" || name == "textarea") return kMarkControl;
  if (name == "header") return kMarkBoilerplate | kMarkLead;
  if (name == "nav" || name == "footer" || name == "menu") return kMarkBoilerplate | kMarkSite;
  if (name == "dialog") return kMarkBoilerplate | kMarkConsent;
  if (name == "form") return kMarkForm;
  for (std::string_view other : {"aside", "figcaption"}) {
    if (name == other) return kMarkBoilerplate;
  }
  return 0;
}

Marks marks_of_attribute(HtmlAttribute name, std::string_view value) {
  if (name == HtmlAttribute::role) {
    if (value == "main") return kMarkContent | kMarkMain;
    if (value == "article") return kMarkContent;
    if (value == "dialog" || value == "alertdialog") return kMarkBoilerplate | kMarkConsent;
    if (value == "navigation" || value == "contentinfo") return kMarkBoilerplate | kMarkSite;
    return std::find(std::begin(kBoilerplateRoles), std::end(kBoilerplateRoles), value) !=
                   std::end(kBoilerplateRoles)
               ? kMarkBoilerplate
               : 0;
  }
  if (name == HtmlAttribute::aria_modal) return value == "true" ? kMarkBoilerplate | kMarkConsent : 0;
  if (name == HtmlAttribute::itemprop) {
    if (value == "articleBody") return kMarkContent | kMarkMain;
    if (value == "comment") return kMarkComments;
    if (value == "description") return kMarkLead;
    if (value == "author") return kMarkBoilerplate;
  }
  return 0;
}

}  // namespace doppel

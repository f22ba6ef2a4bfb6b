// Two passes, as jusText has them: first every block by itself, then those in doubt by their neighbours. In
// place of lists of stop words: what the elements say of themselves.

#include "formats/html_main.h"

#include <algorithm>
#include <array>

namespace doppel {
namespace {

// In units of about one letter; an ideograph counts three.
constexpr size_t kShort = 60;
constexpr size_t kLong = 180;
constexpr size_t kEnough = 200;  // less text than this is not what a page is for

enum class Grade : unsigned char { bad, brief, likely, good };

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; }

// Words that stand alone in a class or id ("main-nav", "nav_left", "siteFooter").
constexpr std::array<std::string_view, 34> kBoilerplateWords{
    "nav",         "navbar",     "navigation", "menu",       "footer",     "sidebar",  "breadcrumb",
    "breadcrumbs", "cookie",     "cookies",    "banner",     "share",      "sharing",  "social",
    "related",     "pagination", "pager",      "paging",     "widget",     "widgets",  "advert",
    "ads",         "sponsored",  "newsletter", "subscribe",  "promo",      "masthead", "topbar",
    "recommended", "toolbar",    "copyright",  "disclaimer", "navigation", "consent"};
constexpr std::array<std::string_view, 6> kContentWords{"articlebody",  "entry-content", "post-content",
                                                        "article-body", "story-body",    "mw-content-text"};
constexpr std::array<std::string_view, 7> kBoilerplateRoles{
    "navigation", "banner", "contentinfo", "complementary", "search", "menu", "menubar"};

template <typename List>
bool one_of(std::string_view word, const List& list) {
  return std::find(list.begin(), list.end(), word) != list.end();
}

// Calls visit for each word of a class or id; a change from small to capital begins a word, too.
template <typename Visit>
void each_word(std::string_view value, Visit visit) {
  std::array<char, 24> word;
  size_t size = 0;
  auto flush = [&] {
    if (size > 0 && size <= word.size()) visit(std::string_view(word.data(), size));
    size = 0;
  };
  char before = ' ';
  for (char c : value.substr(0, 256)) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    if (!letter || (c >= 'A' && c <= 'Z' && before >= 'a' && before <= 'z')) flush();
    if (letter) {
      if (size < word.size()) word[size] = lower(c);
      ++size;
    }
    before = c;
  }
  flush();
}

size_t length_of(std::string_view text) {
  size_t length = 0;
  for (char c : text) {
    const auto u = static_cast<unsigned char>(c);
    if (u < 0x80 || u >= 0xc0) length += u >= 0xe0 ? 3 : 1;
  }
  return length;
}

Grade grade_of(const TextBlock& block, size_t length) {
  const double links = static_cast<double>(block.link_bytes) / static_cast<double>(block.end - block.begin);
  if (block.place.boilerplate || links > 0.4) return Grade::bad;
  if (length < kShort) return links > 0 ? Grade::bad : Grade::brief;
  return length > kLong && links < 0.25 ? Grade::good : Grade::likely;
}

// For every block, the grade of the nearest one that is good or bad (or likely, if that counts), looking
// backwards (from the first) or forwards; bad where there is none.
std::vector<Grade> neighbours(const std::vector<Grade>& grades, bool forwards, bool likely_counts) {
  std::vector<Grade> out(grades.size());
  Grade last = Grade::bad;
  for (size_t n = 0; n < grades.size(); ++n) {
    const size_t i = forwards ? grades.size() - 1 - n : n;
    out[i] = last;
    const Grade grade = grades[i];
    if (grade == Grade::good || grade == Grade::bad || (likely_counts && grade == Grade::likely))
      last = grade;
  }
  return out;
}

void settle(const std::vector<TextBlock>& blocks, std::vector<Grade>& grades) {
  std::vector<Grade> before = neighbours(grades, false, false);
  std::vector<Grade> behind = neighbours(grades, true, false);
  const std::vector<Grade> likely_before = neighbours(grades, false, true);
  const std::vector<Grade> likely_behind = neighbours(grades, true, true);
  for (size_t i = 0; i < grades.size(); ++i) {
    if (grades[i] != Grade::brief) continue;
    const bool near_likely = likely_before[i] == Grade::likely || likely_behind[i] == Grade::likely;
    const bool good = (before[i] == Grade::good && behind[i] == Grade::good) ||
                      ((before[i] == Grade::good || behind[i] == Grade::good) && near_likely) ||
                      // A heading goes with the text behind it.
                      (blocks[i].place.heading && behind[i] == Grade::good);
    grades[i] = good ? Grade::good : Grade::bad;
  }
  before = neighbours(grades, false, false);
  behind = neighbours(grades, true, false);
  for (size_t i = 0; i < grades.size(); ++i) {
    if (grades[i] != Grade::likely) continue;
    const bool alone = before[i] == Grade::bad && behind[i] == Grade::bad;
    grades[i] = alone ? Grade::bad : Grade::good;
  }
}

}  // namespace

void Place::enter(std::string_view element) {
  if (element == "main" || element == "article") {
    content = true;
    boilerplate = false;
  } else if (element == "nav" || element == "footer" || element == "aside" || element == "menu" ||
             element == "select" || element == "form" || element == "button" || element == "textarea" ||
             (element == "header" && !content)) {
    boilerplate = true;
  }
}

void Place::enter_attribute(std::string_view name, std::string_view value) {
  if (name == "role") {
    if (value == "main" || value == "article") {
      content = true;
      boilerplate = false;
    } else if (one_of(value, kBoilerplateRoles)) {
      boilerplate = true;
    }
  } else if (name == "itemprop") {
    content = content || value == "articleBody";
  } else if (name == "class" || name == "id") {
    each_word(value, [this](std::string_view word) {
      if (one_of(word, kBoilerplateWords)) boilerplate = true;
    });
    std::string small(value.substr(0, 256));
    std::transform(small.begin(), small.end(), small.begin(), lower);
    for (std::string_view word : kContentWords) {
      if (small.find(word) != std::string::npos) {
        content = true;
        boilerplate = false;
      }
    }
  }
}

std::string_view main_text(std::string_view text, const std::vector<TextBlock>& blocks, std::string& memory) {
  std::vector<size_t> lengths(blocks.size());
  std::vector<Grade> grades(blocks.size());
  size_t marked = 0;  // of text that says itself that it is content
  for (size_t i = 0; i < blocks.size(); ++i) {
    lengths[i] = length_of(text.substr(blocks[i].begin, blocks[i].end - blocks[i].begin));
    grades[i] = grade_of(blocks[i], lengths[i]);
    if (blocks[i].place.content && grades[i] >= Grade::likely) marked += lengths[i];
  }
  if (marked >= kEnough) {
    for (size_t i = 0; i < blocks.size(); ++i) {
      if (!blocks[i].place.content) grades[i] = Grade::bad;
    }
  }
  settle(blocks, grades);
  memory.clear();
  size_t chosen = 0;
  for (size_t i = 0; i < blocks.size(); ++i) {
    if (grades[i] != Grade::good) continue;
    if (!memory.empty()) memory.push_back('\n');
    std::string_view block = text.substr(blocks[i].begin, blocks[i].end - blocks[i].begin);
    while (!block.empty() && (block.front() == '\n' || block.front() == ' ')) block.remove_prefix(1);
    memory += block;
    chosen += lengths[i];
  }
  return chosen < kEnough ? text : std::string_view(memory);
}

}  // namespace doppel

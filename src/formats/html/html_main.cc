// Within the region, a long block counts by its share of links, and a short one by its neighbours.

#include "formats/html/html_main.h"

#include <xxhash.h>

#include <algorithm>
#include <charconv>
#include <utility>

namespace doppel {
namespace {

constexpr uint32_t kSome = 60;       // letters: less is worth less than the page with all its boilerplate
constexpr uint32_t kAllLinks = 70;   // percent: a list of links
constexpr uint32_t kOnlyLinks = 80;  // percent: only a link
constexpr uint32_t kSentence =
    20;  // letters: a block next to a good one in the same element is kept from here on
// Percent of the region's letters. If less than kList was chosen, the page is a list (of products, posts,
// headlines); a page about one article or product seldom is, so kListOfOneThing is lower. If less than
// kShortBlocks was chosen, short blocks count too; below kLinks also links, on a page about many things.
constexpr uint64_t kList = 40, kListOfOneThing = 30, kShortBlocks = 65, kLinks = 70;
constexpr uint32_t kRepeated =
    100;  // letters: a block that is on the page twice, in elements for small and large screens
constexpr uint32_t kBegins = 100;  // letters: with such a block, the text begins
constexpr uint64_t kRepeatedShare = 70;
constexpr uint32_t kSlidesLeast = 10;  // fewer are steps, or show what the page is about
constexpr size_t kSlideDigits = 4;
constexpr uint64_t kLastHeadings = 10;  // at most one part of the text in so many is in headings at its end
constexpr uint32_t kLinkless =
    200;  // letters in plain blocks: with less a list is a menu, if nothing says otherwise

}  // namespace

uint32_t letters_of(std::string_view text) {
  // One byte holds the counts of a block, so that the compiler can vectorise.
  constexpr size_t kBlock = 80;
  uint32_t letters = 0;
  for (; !text.empty(); text.remove_prefix(std::min(kBlock, text.size()))) {
    unsigned char here = 0;
    for (char c : text.substr(0, kBlock)) {
      const auto u = static_cast<unsigned char>(c);
      const bool begins = (u < 0x80) | (u >= 0xc0);
      here = static_cast<unsigned char>(here + begins + 2 * (u >= 0xe0));
    }
    letters += here;
  }
  return letters;
}

namespace {

// Soft hyphens are where a browser may break a word.
void append_without_hyphens(std::string_view text, std::string& out) {
  constexpr std::string_view kSoftHyphen = "\u00ad";
  for (size_t at; (at = text.find(kSoftHyphen)) != text.npos; text.remove_prefix(at + kSoftHyphen.size()))
    out += text.substr(0, at);
  out += text;
}

// Whether the text has a year, and another digit at least.
bool has_date(std::string_view text) {
  constexpr size_t kYear = 4;
  bool year = false;
  size_t digits = 0, run = 0;
  for (size_t i = 0; i <= text.size(); ++i) {
    if (i < text.size() && text[i] >= '0' && text[i] <= '9') {
      ++run;
      continue;
    }
    const std::string_view number = text.substr(i - run, run);
    year = year || (run == kYear && (number.starts_with("19") || number.starts_with("20")));
    digits += run;
    run = 0;
  }
  return year && digits > kYear;
}

// The number and the count that a slide begins with ("2/12 The harbour"), or 0 and 0.
std::pair<uint32_t, uint32_t> slide_number(std::string_view text) {
  const auto skip_spaces = [&text] {
    while (text.starts_with(' ')) text.remove_prefix(1);
  };
  const auto take_number = [&] {
    uint32_t out = 0;
    const char* const begin = text.data();
    const char* const end = std::from_chars(begin, begin + std::min(kSlideDigits, text.size()), out).ptr;
    text.remove_prefix(static_cast<size_t>(end - begin));
    skip_spaces();
    return out;
  };
  const uint32_t number = take_number();
  if (number == 0 || !text.starts_with('/')) return {0, 0};
  text.remove_prefix(1);
  skip_spaces();
  const uint32_t all = take_number();
  return all == 0 ? std::pair(0U, 0U) : std::pair(number, all);
}

// Whether the text has more digits than letters, and few letters.
bool is_numbers(std::string_view text) {
  uint32_t letters = 0, digits = 0;
  for (size_t i = 0; i < text.size() && letters < kSome; ++i) {
    const auto u = static_cast<unsigned char>(text[i]);
    letters += (u >= 'a' && u <= 'z') || (u >= 'A' && u <= 'Z') || u >= 0xc0 ? 1 : 0;
    digits += u >= '0' && u <= '9' ? 1 : 0;
  }
  return letters < kSome && digits > letters;
}

}  // namespace

size_t HashOfBlock::operator()(std::string_view text) const { return XXH3_64bits(text.data(), text.size()); }

void MainText::drop_all() { std::replace(fates_.begin(), fates_.end(), BlockFate::taken, BlockFate::little); }

std::string_view fate_name(BlockFate fate) {
  switch (fate) {
    case BlockFate::taken:
      return "taken";
    case BlockFate::boilerplate:
      return "boilerplate";
    case BlockFate::comment:
      return "comment";
    case BlockFate::title:
      return "title";
    case BlockFate::outside:
      return "outside";
    case BlockFate::insert:
      return "insert";
    case BlockFate::links:
      return "links";
    case BlockFate::little:
      return "little";
    case BlockFate::repeated:
      return "repeated";
  }
  return "";
}

// The list that the element is an item of, or is in an item of, if the list is not mostly links.
const HtmlNode* MainText::list_of_text(uint32_t node) const {
  for (int levels = 0; levels < 3 && node != 0; ++levels, node = (*nodes_)[node].parent) {
    const HtmlNode& list = (*nodes_)[node];
    if (list.list) return list.linked * 100ULL < list.letters * kManyLinks ? &list : nullptr;
  }
  return nullptr;
}

MainText::Grade MainText::grade_of(size_t i) {
  const TextBlock& block = (*blocks_)[i];
  const HtmlNode& node = (*nodes_)[block.node];
  if (region_.is_lead(i)) return Grade::good;
  if (node.out) {
    fates_[i] = node.comment ? BlockFate::comment : BlockFate::boilerplate;
    return Grade::bad;
  }
  if (region_.is_insert(block)) {
    fates_[i] = BlockFate::insert;
    return Grade::linked;  // what is around it are still neighbours
  }
  if (!region_.holds(block)) {
    fates_[i] = BlockFate::outside;
    return Grade::bad;
  }
  // Items with links are text as the others are, and so are short ones in a long list.
  const HtmlNode* const list = list_of_text(block.node);
  if (list != nullptr && list->letters >= kEnoughLetters) return Grade::good;
  const uint32_t links = list != nullptr ? 0 : block.links;
  if (block.letters < kGoodLetters) return links > 0 ? Grade::linked : Grade::brief;
  if (links <= kManyLinks) return Grade::good;
  if (links < kAllLinks) return Grade::linked;
  fates_[i] = BlockFate::links;
  return Grade::bad;
}

// Drops the title above the text. Some sites put it in the region, others in the header; dropping it treats
// them alike.
void MainText::drop_title() {
  for (size_t i = 0; i < grades_.size(); ++i) {
    if (grades_[i] == Grade::good && !(*blocks_)[i].title && !region_.is_lead(i)) return;
    if (!(*blocks_)[i].title || fates_[i] != BlockFate::taken) continue;
    fates_[i] = BlockFate::title;
    grades_[i] = Grade::linked;
  }
}

void MainText::settle() {
  const std::vector<TextBlock>& blocks = *blocks_;
  const size_t count = blocks.size();
  // The nearest decided blocks before and after each block.
  auto decided = [this](size_t i) { return grades_[i] == Grade::good || grades_[i] == Grade::bad; };
  before_.resize(count);
  behind_.resize(count);
  Grade last = Grade::bad;
  for (size_t i = 0; i < count; ++i) {
    before_[i] = last;
    if (decided(i)) last = grades_[i];
  }
  last = Grade::bad;
  for (size_t i = count; i-- > 0;) {
    behind_[i] = last;
    if (decided(i)) last = grades_[i];
  }
  auto text = [this, count](size_t i) {
    return i < count && (grades_[i] == Grade::good || grades_[i] == Grade::brief);
  };
  auto same_place = [&](size_t i, size_t j) {
    if (j >= count || grades_[j] != Grade::good || region_.is_lead(j)) return false;
    return blocks[i].node == blocks[j].node ||
           (*nodes_)[blocks[i].node].parent == (*nodes_)[blocks[j].node].parent;
  };
  for (size_t i = 0; i < count; ++i) {
    if (fates_[i] != BlockFate::taken || grades_[i] == Grade::good) continue;
    const bool between = before_[i] == Grade::good && behind_[i] == Grade::good;
    if (grades_[i] == Grade::linked) {
      // i - 1 wraps around to a number >= count.
      const bool taken = between && text(i - 1) && text(i + 1) && blocks[i].links <= kOnlyLinks;
      const bool titles =
          blocks[i].heading && !blocks[i].title && i + 1 < count && grades_[i + 1] == Grade::good;
      if (!taken && !titles) fates_[i] = BlockFate::links;
    } else {
      const bool sentence = blocks[i].letters >= kSentence && (same_place(i, i - 1) || same_place(i, i + 1));
      const bool above = blocks[i].heading && behind_[i] == Grade::good;
      if (!between && !sentence && !above) fates_[i] = BlockFate::little;
    }
  }
}

uint64_t MainText::taken_letters() const {
  uint64_t letters = 0;
  for (size_t i = 0; i < blocks_->size(); ++i)
    letters += fates_[i] == BlockFate::taken ? (*blocks_)[i].letters : 0;
  return letters;
}

void MainText::collect(std::string_view text) {
  out_.clear();
  for (size_t i = 0; i < blocks_->size(); ++i) {
    if (fates_[i] != BlockFate::taken) continue;
    if (!out_.empty()) out_.push_back('\n');
    const TextBlock& block = (*blocks_)[i];
    append_without_hyphens(text.substr(block.begin, block.end - block.begin), out_);
  }
}

std::string_view MainText::choose(std::string_view text, std::vector<TextBlock>& blocks,
                                  std::vector<HtmlNode>& nodes, Subject subject) {
  blocks_ = &blocks;
  nodes_ = &nodes;
  for (TextBlock& block : blocks) {
    const size_t bytes = block.end - block.begin;
    block.letters = letters_of(text.substr(block.begin, bytes));
    block.links = static_cast<uint32_t>(block.link_bytes * 100 / std::max<size_t>(1, bytes));
  }
  region_.find(blocks, nodes, subject);
  fates_.assign(blocks.size(), BlockFate::taken);
  grades_.resize(blocks.size());
  for (size_t i = 0; i < blocks.size(); ++i) grades_[i] = grade_of(i);
  drop_title();
  settle();
  take_lists(subject != Subject::many);
  if (!list_) drop_last_headings();
  if (!list_ && subject != Subject::many) drop_dates(text);
  if (!list_ && subject == Subject::article) drop_slides(text);
  nearly_empty_ = taken_letters() < kEnoughLetters;
  if (nearly_empty_) take_what_is_left();
  drop_repeats(text);
  collect(text);
  fallback_ = is_fallback_text();
  return out_;
}

// If a page has no main text, its list is its content.
void MainText::take_lists(bool one_thing) {
  const std::vector<TextBlock>& blocks = *blocks_;
  uint64_t region = 0;
  for (const TextBlock& block : blocks) {
    if (!(*nodes_)[block.node].out && region_.holds(block)) region += block.letters;
  }
  const uint64_t taken = taken_letters() * 100;
  list_ = taken < region * (one_thing ? kListOfOneThing : kList);
  const bool short_ones = taken < region * kShortBlocks;
  const bool links = !one_thing && taken < region * kLinks;
  if (!short_ones && !links) return;
  for (size_t i = 0; i < blocks.size(); ++i) {
    if ((*nodes_)[blocks[i].node].out || !region_.holds(blocks[i])) continue;
    const BlockFate fate = fates_[i];
    const bool is_short = fate == BlockFate::little || fate == BlockFate::title;
    if (list_ || (short_ones && is_short) || (links && fate == BlockFate::links))
      fates_[i] = BlockFate::taken;
  }
}

// A short line with a date above the text says when it was published. Sites write that in their own ways.
void MainText::drop_dates(std::string_view text) {
  for (size_t i = 0; i < blocks_->size(); ++i) {
    if (fates_[i] != BlockFate::taken) continue;
    const TextBlock& block = (*blocks_)[i];
    if (block.letters >= kBegins) return;
    const bool date = block.letters < kSome && !block.heading &&
                      has_date(text.substr(block.begin, block.end - block.begin));
    if (date) fates_[i] = BlockFate::title;
  }
}

// Where two elements part, the branch of the second one ends before the element that this returns.
uint32_t MainText::end_of_branch(uint32_t first, uint32_t last) const {
  const std::vector<HtmlNode>& nodes = *nodes_;
  uint32_t branch = last;
  while (first != last) {  // a parent has a smaller index
    if (last > first) branch = last;
    uint32_t& later = last > first ? last : first;
    later = nodes[later].parent;
  }
  uint32_t end = branch + 1;
  while (end < nodes.size() && nodes[end].parent >= branch) ++end;
  return end;
}

// Slides between the paragraphs of an article ("1/12" to "12/12") are about other things.
void MainText::drop_slides(std::string_view text) {
  const std::vector<TextBlock>& blocks = *blocks_;
  size_t first = 0;
  uint32_t slides = 0, total = 0;
  for (size_t i = 0; i < blocks.size(); ++i) {
    const auto [number, all] = slide_number(text.substr(blocks[i].begin, blocks[i].end - blocks[i].begin));
    if (all == 0) continue;
    if (number == 1) first = i;
    slides = number == 1 ? 1 : number == slides + 1 && all == total ? number : 0;
    total = all;
    if (slides != total || total < kSlidesLeast) continue;
    const uint32_t from = blocks[first].node, to = end_of_branch(from, blocks[i].node);
    size_t end = i + 1;
    while (end < blocks.size() && blocks[end].node > from && blocks[end].node < to) ++end;
    uint64_t before = 0, behind = 0;  // letters of long blocks
    for (size_t b = 0; b < blocks.size(); ++b) {
      if (fates_[b] != BlockFate::taken || blocks[b].letters < kGoodLetters) continue;
      before += b < first ? blocks[b].letters : 0;
      behind += b >= end ? blocks[b].letters : 0;
    }
    if (before < kEnoughLetters || behind < kEnoughLetters) return;
    std::fill(fates_.begin() + static_cast<ptrdiff_t>(first), fates_.begin() + static_cast<ptrdiff_t>(end),
              BlockFate::insert);
    return;
  }
}

// A heading that no text follows belongs to what is left out.
void MainText::drop_last_headings() {
  uint64_t left = taken_letters() / kLastHeadings;
  for (size_t i = blocks_->size(); i-- > 0;) {
    if (fates_[i] != BlockFate::taken) continue;
    const TextBlock& block = (*blocks_)[i];
    if (!block.heading || block.links >= kManyLinks || block.letters > left) return;
    fates_[i] = BlockFate::little;
    left -= block.letters;
  }
}

void MainText::drop_repeats(std::string_view text) {
  seen_.clear();
  repeats_.assign(nodes_->size(), {});
  const auto parent = [this](const TextBlock& block) { return (*nodes_)[block.node].parent; };
  for (size_t i = 0; i < blocks_->size(); ++i) {
    const TextBlock& block = (*blocks_)[i];
    if (fates_[i] != BlockFate::taken || block.letters < kRepeated) continue;
    const auto [first, is_new] =
        seen_.emplace(text.substr(block.begin, block.end - block.begin), parent(block));
    const bool again = !is_new && first->second != parent(block);
    repeats_[parent(block)].all += block.letters;
    repeats_[parent(block)].again += again ? block.letters : 0;
    if (again) fates_[i] = BlockFate::repeated;
  }
  for (size_t i = 0; i < blocks_->size(); ++i) {
    const auto& [all, again] = repeats_[parent((*blocks_)[i])];
    if (fates_[i] == BlockFate::repeated && again * 100ULL < all * kRepeatedShare)
      fates_[i] = BlockFate::taken;
  }
}

// Takes the unmarked blocks with few links; if they are too few, everything except dialogs.
void MainText::take_what_is_left() {
  const std::vector<TextBlock>& blocks = *blocks_;
  list_ = false;
  for (size_t i = 0; i < blocks.size(); ++i) {
    const bool out = (*nodes_)[blocks[i].node].out;
    fates_[i] = out                             ? BlockFate::boilerplate
                : blocks[i].links >= kManyLinks ? BlockFate::links
                                                : BlockFate::taken;
  }
  if (taken_letters() >= kSome) return;
  dialogs_.assign(nodes_->size(), 0);
  for (size_t i = 1; i < nodes_->size(); ++i) {
    const HtmlNode& node = (*nodes_)[i];
    dialogs_[i] = dialogs_[node.parent] != 0 || (node.marks & kMarkConsent) != 0 ? 1 : 0;
  }
  for (size_t i = 0; i < blocks.size(); ++i)
    fates_[i] = dialogs_[blocks[i].node] != 0 ? BlockFate::boilerplate : BlockFate::taken;
}

// A text is a fallback if it is one of these: very short, with other blocks left out; a list of links that
// may be the site's; mostly marked as the site's; numbers.
bool MainText::is_fallback_text() {
  uint64_t letters = 0, of_site = 0;
  plain_ = 0;
  bool others = false;
  for (size_t i = 0; i < blocks_->size(); ++i) {
    const TextBlock& block = (*blocks_)[i];
    const HtmlNode& node = (*nodes_)[block.node];
    others = others || node.out || block.links >= kManyLinks;
    if (fates_[i] != BlockFate::taken) continue;
    letters += block.letters;
    of_site += node.site ? block.letters : 0;
    plain_ += block.letters >= kPlainLetters && block.links < kManyLinks ? block.letters : 0;
  }
  if (nearly_empty_ ? others : of_site * 2 > letters) return true;
  if (list_ && !region_.is_marked() && plain_ < kLinkless) return true;
  return is_numbers(out_);
}

}  // namespace doppel

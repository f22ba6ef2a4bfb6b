// In the region a block is good by its length and links, and a short one by its neighbours.

#include "formats/html_main.h"

#include <algorithm>

namespace doppel {
namespace {

constexpr uint32_t kSome = 60;       // letters that are worth more than a page with all its boilerplate
constexpr uint32_t kAllLinks = 70;   // percent: a list of links
constexpr uint32_t kOnlyLinks = 80;  // percent: nothing but a link
constexpr uint32_t kSentence = 20;   // letters that go with the good block beside them

}  // namespace

uint32_t letters_of(std::string_view text) {
  uint32_t letters = 0;
  for (char c : text) {
    const auto u = static_cast<unsigned char>(c);
    if (u < 0x80 || u >= 0xc0) letters += u >= 0xe0 ? 3 : 1;
  }
  return letters;
}

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
    case BlockFate::links:
      return "links";
    case BlockFate::little:
      return "little";
  }
  return "";
}

MainText::Grade MainText::grade_of(size_t i) {
  const TextBlock& block = (*blocks_)[i];
  const HtmlNode& node = (*nodes_)[block.node];
  if (region_.is_lead(i)) return Grade::good;
  if (node.out) {
    fates_[i] = node.comment ? BlockFate::comment : BlockFate::boilerplate;
    return Grade::bad;
  }
  if (!region_.holds(block)) {
    fates_[i] = BlockFate::outside;
    return Grade::bad;
  }
  if (block.letters < kGoodLetters) return block.links > 0 ? Grade::linked : Grade::brief;
  if (block.links <= kManyLinks) return Grade::good;
  if (block.links < kAllLinks) return Grade::linked;
  fates_[i] = BlockFate::links;
  return Grade::bad;
}

// The title is above the text, in the region or not: on some sites it is part of it, and on others of the
// head.
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
  // The nearest blocks that are decided.
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
      // The number before the first is not less than count.
      const bool taken = between && text(i - 1) && text(i + 1) && blocks[i].links <= kOnlyLinks;
      if (!taken) fates_[i] = BlockFate::links;
    } else {
      const bool sentence = blocks[i].letters >= kSentence && (same_place(i, i - 1) || same_place(i, i + 1));
      const bool above = blocks[i].heading && behind_[i] == Grade::good;
      if (!between && !sentence && !above) fates_[i] = BlockFate::little;
    }
  }
}

// How many letters the taken blocks have.
uint32_t MainText::collect(std::string_view text) {
  out_.clear();
  uint32_t letters = 0;
  for (size_t i = 0; i < blocks_->size(); ++i) {
    if (fates_[i] != BlockFate::taken) continue;
    if (!out_.empty()) out_.push_back('\n');
    const TextBlock& block = (*blocks_)[i];
    out_ += text.substr(block.begin, block.end - block.begin);
    letters += block.letters;
  }
  return letters;
}

std::string_view MainText::choose(std::string_view text, std::vector<TextBlock>& blocks,
                                  std::vector<HtmlNode>& nodes) {
  blocks_ = &blocks;
  nodes_ = &nodes;
  for (TextBlock& block : blocks) {
    const size_t bytes = block.end - block.begin;
    block.letters = letters_of(text.substr(block.begin, bytes));
    block.links = static_cast<uint32_t>(block.link_bytes * 100 / std::max<size_t>(1, bytes));
  }
  region_.find(blocks, nodes);
  fates_.assign(blocks.size(), BlockFate::taken);
  grades_.resize(blocks.size());
  for (size_t i = 0; i < blocks.size(); ++i) grades_[i] = grade_of(i);
  drop_title();
  settle();
  nearly_empty_ = collect(text) < kEnoughLetters;
  if (!nearly_empty_) return out_;
  // A page of a few short lines, or of a few lines among links.
  for (size_t i = 0; i < blocks.size(); ++i) {
    const bool out = nodes[blocks[i].node].out;
    fates_[i] = out                             ? BlockFate::boilerplate
                : blocks[i].links >= kManyLinks ? BlockFate::links
                                                : BlockFate::taken;
  }
  if (collect(text) >= kSome) return out_;
  fates_.assign(blocks.size(), BlockFate::taken);
  return text;
}

}  // namespace doppel

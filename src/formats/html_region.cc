// Plain text decides: which elements are boilerplate as they say (not those that hold most of it), and which
// one is the region (where most of it is).

#include "formats/html_region.h"

#include <algorithm>

namespace doppel {
namespace {

// Percent of the page's plain text.
constexpr uint64_t kCommentsAre = 70;  // comments that are more than this are what the page is for
constexpr uint64_t kRest = 35;         // what says that it is boilerplate is, if as much remains without it,
constexpr uint64_t kRevoked = 40;      // or if it has less than this
constexpr uint64_t kRegion = 25;       // what says that it is content is, with as much
// A child with this share of its parent's plain text replaces it: anywhere; if it says that it is content;
// inside of what said so.
constexpr uint64_t kDescend = 70;
constexpr uint64_t kDescendMarked = 70;
constexpr uint64_t kDescendInside = 90;
constexpr int kRevocations = 8;

// Beside the way down: letters of plain text, percent of links, percent of plain text.
constexpr uint32_t kJoins = 150;
constexpr uint64_t kJoinsLinks = 10;
constexpr uint64_t kJoinsPlain = 80;

constexpr uint32_t kLeadLetters = 40;
constexpr uint32_t kLeadLinks = 20;
constexpr int kLeads = 3;
constexpr size_t kTitleNear =
    8;  // blocks before the text where a heading may be the title, if there is no h1

bool has(const HtmlNode& node, Marks marks) { return (node.marks & marks) != 0; }

}  // namespace

void Region::find(const std::vector<TextBlock>& blocks, std::vector<HtmlNode>& nodes) {
  blocks_ = &blocks;
  nodes_ = &nodes;
  drop_comments();
  drop_boilerplate();
  choose();
  find_leads();
}

// The letters of each element that is not out, with all that is inside; the page's plain text.
uint64_t Region::sum() {
  std::vector<HtmlNode>& nodes = *nodes_;
  for (HtmlNode& node : nodes) node.plain = node.letters = node.linked = 0;
  for (const TextBlock& block : *blocks_) {
    HtmlNode& node = nodes[block.node];
    if (node.out) continue;
    node.letters += block.letters;
    node.linked += static_cast<uint32_t>(uint64_t{block.letters} * block.links / 100);
    if (block.letters >= kPlainLetters && block.links < kManyLinks) node.plain += block.letters;
  }
  for (size_t i = nodes.size(); i-- > 1;) {
    HtmlNode& parent = nodes[nodes[i].parent];
    parent.plain += nodes[i].plain;
    parent.letters += nodes[i].letters;
    parent.linked += nodes[i].linked;
  }
  return nodes[0].plain;
}

void Region::drop_comments() {
  std::vector<HtmlNode>& nodes = *nodes_;
  const uint64_t all = sum();
  uint64_t comments = 0;
  for (size_t i = 1; i < nodes.size(); ++i) {
    HtmlNode& node = nodes[i];
    node.out = nodes[node.parent].out;
    if (node.out || !has(node, kMarkComments) || node.plain * 100ULL >= all * kCommentsAre) continue;
    node.out = true;
    comments += node.plain;
  }
  const bool nothing_else = all - comments < kEnoughLetters;
  for (HtmlNode& node : nodes) node.comment = node.out = node.out && !nothing_else;
}

// Of what says that it is boilerplate the largest is taken at its word last: as long as little else remains,
// it is none.
void Region::drop_boilerplate() {
  std::vector<HtmlNode>& nodes = *nodes_;
  const uint64_t all = sum();
  // "layout-sidebar" around <main> is no sidebar.
  for (size_t i = nodes.size(); i-- > 1;) {
    if (nodes[i].out || nodes[i].plain < kEnoughLetters || !has(nodes[i], kMarkMain)) continue;
    HtmlNode& parent = nodes[nodes[i].parent];
    parent.marks = static_cast<Marks>((parent.marks & ~kMarkBoilerplate) | kMarkMain);
  }
  before_.resize(nodes.size());
  for (size_t i = 0; i < nodes.size(); ++i) before_[i] = nodes[i].plain;
  for (int round = 0; round < kRevocations; ++round) {
    uint32_t largest = 0;
    uint64_t rest = all;
    for (uint32_t i = 1; i < nodes.size(); ++i) {
      HtmlNode& node = nodes[i];
      const bool around = nodes[node.parent].out || node.comment;
      const bool says_so = has(node, kMarkBoilerplate | kMarkControl);
      node.out = around || says_so;
      if (around || !says_so) continue;
      rest -= before_[i];
      if (has(node, kMarkControl)) continue;
      if (largest == 0 || before_[i] > before_[largest]) largest = i;
    }
    if (rest >= kEnoughLetters && rest * 100 >= all * kRest) return;
    if (largest == 0 || before_[largest] * 100ULL < all * kRevoked) return;
    nodes[largest].marks &= static_cast<Marks>(~kMarkBoilerplate);
  }
}

// Text beside the way down to the region: as plain as the region's, or a paragraph between.
bool Region::joins(const HtmlNode& node) const {
  if (node.out) return false;
  return node.running || (node.plain >= kJoins && node.linked * 100ULL <= node.letters * kJoinsLinks &&
                          node.plain * 100ULL >= node.letters * kJoinsPlain);
}

void Region::choose() {
  std::vector<HtmlNode>& nodes = *nodes_;
  const uint64_t all = sum();
  inside_.assign(nodes.size(), 0);
  passed_.assign(nodes.size(), 0);
  uint32_t top = 0;
  if (all >= kEnoughLetters) {
    for (uint32_t i = 1; i < nodes.size(); ++i) {
      const HtmlNode& node = nodes[i];
      if (!has(node, kMarkContent) || node.out || node.plain * 100ULL < all * kRegion) continue;
      if (top == 0 || node.plain > nodes[top].plain) top = i;
    }
    const bool marked = top != 0;
    // Children have larger numbers than their parents: one walk finds the way.
    for (uint32_t i = top + 1; i < nodes.size(); ++i) {
      const HtmlNode& node = nodes[i];
      if (node.parent != top || node.out || node.plain < kEnoughLetters) continue;
      const uint64_t share = has(node, kMarkContent) ? kDescendMarked : marked ? kDescendInside : kDescend;
      if (node.plain * 100ULL < nodes[top].plain * share) continue;
      passed_[top] = 1;
      top = i;
    }
    for (uint32_t i = 1; i < nodes.size(); ++i) {
      if (passed_[nodes[i].parent] != 0 && passed_[i] == 0 && joins(nodes[i])) inside_[i] = 1;
    }
  }
  inside_[top] = 1;
  for (size_t i = 1; i < nodes.size(); ++i) inside_[i] |= inside_[nodes[i].parent];
}

bool Region::may_lead(const TextBlock& block) const {
  const std::vector<HtmlNode>& nodes = *nodes_;
  if (block.letters < kLeadLetters || block.links >= kLeadLinks) return false;
  if (!nodes[block.node].out) return true;
  for (uint32_t i = block.node; i != 0; i = nodes[i].parent) {
    if (has(nodes[i], kMarkLead)) return true;
    if (has(nodes[i], kMarkBoilerplate | kMarkComments | kMarkControl)) return false;
  }
  return false;
}

// What is written between the title and the text, whatever holds it.
void Region::find_leads() {
  const std::vector<TextBlock>& blocks = *blocks_;
  const size_t none = blocks.size();
  lead_.assign(none, 0);
  size_t begin = 0;
  size_t title = none;
  for (; begin < none; ++begin) {
    const TextBlock& block = blocks[begin];
    const bool text = block.letters >= kGoodLetters && block.links < kManyLinks;
    if (text && holds(block) && !(*nodes_)[block.node].out) break;
    if (block.title) title = begin;
  }
  if (begin == none) return;
  for (size_t i = begin; title == none && i > 0 && begin - i < kTitleNear; --i) {
    if (blocks[i - 1].heading) title = i - 1;
  }
  if (title == none) return;
  int leads = 0;
  for (size_t i = title + 1; i < begin && leads < kLeads; ++i) {
    if (!may_lead(blocks[i])) continue;
    lead_[i] = 1;
    ++leads;
  }
}

}  // namespace doppel

// The distribution of plain text decides which marked elements are boilerplate (not the elements that contain
// most of it), and which element is the region (where most of it is).

#include "formats/html/html_region.h"

#include <algorithm>

namespace doppel {
namespace {

// In percent of the page's plain text.
constexpr uint64_t kCommentsAre = 70;  // comments with more than this are the content
constexpr uint64_t kRest = 35;     // marked boilerplate is dropped if at least this much remains without it,
constexpr uint64_t kRevoked = 40;  // or if it contains less than this
constexpr uint64_t kRegion = 25;   // an element marked as content needs at least this
// A child with this share of its parent's plain text replaces the parent: unmarked; marked as content; inside
// a marked element.
constexpr uint64_t kDescend = 70;
constexpr uint64_t kDescendMarked = 70;
constexpr uint64_t kDescendInside = 90;
constexpr int kRevocations = 8;

// Elements next to the path down to the region: letters of plain text, percent of links, percent of plain
// text.
constexpr uint32_t kJoins = 150;
constexpr uint64_t kJoinsLinks = 10;
constexpr uint64_t kJoinsPlain = 80;

constexpr uint32_t kFormText = 400;  // plain letters: with more, the form contains posts

// An element called a menu is not one if it has this many plain letters, this share of plain text, and fewer
// links than this.
constexpr uint32_t kMenuPlain = 100;
constexpr uint64_t kMenuPlainShare = 60, kMenuLinks = 20;

constexpr uint32_t kRestLetters =
    600;  // letters, with links: if this many remain, a page's footer stays boilerplate
constexpr uint64_t kMainLetters =
    50;                           // percent of the page's letters, for the list of a page without plain text
constexpr uint64_t kBeside = 50;  // percent of the region's plain text, in marked siblings
constexpr uint64_t kParts = 10;  // percent of the largest part's plain text, in all other parts of an article
constexpr uint64_t kLettersInside = 70;  // percent of the region's letters, on a page about many things

// Running text is what long blocks have beyond kRunning letters, so that an article outweighs teasers with as
// many letters. In percent of the page's running text: the element with more than kOutweighs is not what its
// name suggests; with a title or an element of content kOutweighsTitled is enough; readers' comments need
// more, and on the page of a product they stay comments.
constexpr uint32_t kRunning = 100;
constexpr uint64_t kOutweighs = 62, kOutweighsTitled = 35, kOutweighsComments = 75;
constexpr uint32_t kRunningLeast = 300;
constexpr uint32_t kRunningSite = 600;  // with less, text that a name calls the site's stays the site's

// Stories behind an article: the least letters of a linked title, the most of an item, the least number of
// items, percent of links in the title, the least running text before; the same on a page that does not say
// that it is about one thing, where no running text may follow; percent of the letters that are in items.
constexpr uint32_t kItemTitle = 20, kItemLetters = 300, kItems = 3;
constexpr uint32_t kItemLinks = 70, kItemBehind = 400, kItemBehindAll = 1000;
constexpr uint64_t kItemShare = 70;

// The core of an article: an element with this share of the region's running text, and at least so many long
// blocks and letters of running text. On a page that does not say that it is an article, this share of them
// must be paragraphs next to each other.
constexpr uint64_t kCore = 65, kSideBySide = 60;
constexpr uint32_t kCoreParagraphs = 3, kCoreLeast = 300;

constexpr uint32_t kInsertLines = 10;  // the most blocks of a box between the paragraphs of an article

// The most letters and blocks of a picture's caption, and one part in kCaptionsMost of the region may be
// captions.
constexpr uint32_t kCaptionLetters = 300, kCaptionLines = 2;
constexpr uint64_t kCaptionsMost = 5;

constexpr uint32_t kLeadLetters = 40;
constexpr uint32_t kLeadLinks = 20;
constexpr int kLeads = 3;
constexpr size_t kTitleNear =
    8;  // blocks before the text where a heading may be the title, if there is no h1

constexpr Marks kAway = kMarkBoilerplate | kMarkComments | kMarkConsent | kMarkSite | kMarkShow | kMarkMenu;
constexpr Marks kNoMain = kMarkBoilerplate | kMarkConsent | kMarkSite;

bool has(const HtmlNode& node, Marks marks) { return (node.marks & marks) != 0; }

}  // namespace

void Region::find(const std::vector<TextBlock>& blocks, std::vector<HtmlNode>& nodes, Subject subject) {
  blocks_ = &blocks;
  nodes_ = &nodes;
  steps_ = 0;
  one_thing_ = subject != Subject::many;
  product_ = subject == Subject::product;
  weigh_names();
  drop_comments();
  drop_stories();
  drop_boilerplate();
  for (size_t i = 1; i < nodes.size(); ++i) nodes[i].site = nodes[i].site || nodes[nodes[i].parent].site;
  choose();
  find_end();
  find_leads();
}

// A name is evidence. The element that holds most of the page's running text outweighs it.
void Region::weigh_names() {
  std::vector<HtmlNode>& nodes = *nodes_;
  runs_.assign(nodes.size(), 0);
  titled_.assign(nodes.size(), 0);
  for (size_t i = 1; i < nodes.size(); ++i) {
    const HtmlNode& parent = nodes[nodes[i].parent];
    // What the markup itself calls boilerplate, and what names call dialogs, does not compete with the text.
    nodes[i].out = parent.out || has(nodes[i], kMarkBoilerplate) || (nodes[i].names & kMarkConsent) != 0;
    if ((titled_[nodes[i].parent] & 2) != 0 || has(parent, kMarkContent)) titled_[i] = 2;
  }
  for (const TextBlock& block : *blocks_) {
    if (!nodes[block.node].out && block.letters > kRunning && block.links < kJoinsLinks)
      runs_[block.node] += block.letters - kRunning;
  }
  for (size_t i = nodes.size(); i-- > 1;) {
    runs_[nodes[i].parent] += runs_[i];
    if (nodes[i].title || (titled_[i] & 1) != 0) titled_[nodes[i].parent] |= 1;
  }
  // The parts of an article may all have the class; then they are weighed together.
  const auto is_part = [&](size_t i) { return (titled_[i] & 2) != 0 && nodes[i].class_hash != 0; };
  runs_of_class_.clear();
  for (size_t i = 1; i < nodes.size(); ++i) {
    const bool repeated = nodes[i].class_hash == nodes[nodes[i].parent].class_hash;
    if (is_part(i) && !repeated) runs_of_class_[nodes[i].class_hash] += runs_[i];
  }
  for (size_t i = 1; i < nodes.size(); ++i) {
    HtmlNode& node = nodes[i];
    nodes[i].out = false;
    const uint32_t weight = is_part(i) ? std::max(runs_[i], runs_of_class_[node.class_hash]) : runs_[i];
    const uint64_t share = weight * 100ULL / std::max<uint32_t>(1, runs_[0]);
    const bool titled = (titled_[i] & 1) != 0 || has(node, kMarkContent);
    if (weight >= kRunningLeast && share > (titled ? kOutweighsTitled : kOutweighs)) {
      const bool inside = (titled_[i] & 2) != 0 && runs_[i] >= kRunningSite;
      Marks kept = kMarkConsent;
      if (!titled && (product_ || share < kOutweighsComments)) kept |= kMarkComments;
      if (!titled && !inside && (node.names & kMarkSite) != 0)
        kept |= kMarkSite | kMarkMenu | kMarkBoilerplate;
      if ((node.names & kMarkConsent) != 0) kept |= kMarkBoilerplate;
      node.names &= ~kAway | kept;
    }
    node.marks |= node.names;
  }
}

// Sums the letters of each element that is not out, with its descendants. Returns the page's plain text.
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

// The meaning of some marks depends on the content of the element.
void Region::settle_marks() {
  std::vector<HtmlNode>& nodes = *nodes_;
  for (size_t i = nodes.size(); i-- > 1;) {
    HtmlNode& node = nodes[i];
    if (has(node, kMarkForm) && node.plain < kFormText) node.marks |= kMarkBoilerplate;
    if (has(node, kMarkShow) && one_thing_) node.marks |= kMarkBoilerplate;
    const bool plain = node.plain >= kMenuPlain && node.plain * 100ULL >= node.letters * kMenuPlainShare &&
                       node.linked * 100ULL < node.letters * kMenuLinks;
    if (has(node, kMarkMenu) && !plain) node.marks |= kMarkBoilerplate | kMarkSite;
    const bool holds = has(node, kMarkHolds) || (has(node, kMarkContent) && node.plain >= kEnoughLetters);
    if (holds) nodes[node.parent].marks |= kMarkHolds;
  }
  // "layout-sidebar" around <main> is not a sidebar.
  for (size_t i = nodes.size(); i-- > 1;) {
    if (nodes[i].out || nodes[i].plain < kEnoughLetters || !has(nodes[i], kMarkMain)) continue;
    HtmlNode& parent = nodes[nodes[i].parent];
    parent.marks = static_cast<Marks>((parent.marks & ~kNoMain) | kMarkMain);
  }
}

// Behind an article, an element of items that each have a linked title and at most a few lines shows other
// stories, whatever it is called.
void Region::drop_stories() {
  std::vector<HtmlNode>& nodes = *nodes_;
  std::vector<uint32_t>& titles = runs_;
  titles.assign(nodes.size(), 0);
  for (const TextBlock& block : *blocks_) {
    if (block.letters >= kItemTitle && block.links >= kItemLinks) ++titles[block.node];
  }
  for (size_t i = nodes.size(); i-- > 1;) titles[nodes[i].parent] += titles[i];
  if (titles[0] < kItems) return;
  sum();
  items_.assign(nodes.size(), {});
  // Plain text before each element.
  uint32_t before = 0;
  size_t started = 0;
  for (const TextBlock& block : *blocks_) {
    for (; started <= block.node; ++started) items_[started].before = before;
    if (block.letters > kRunning && block.links < kJoinsLinks) before += block.letters - kRunning;
  }
  for (; started < nodes.size(); ++started) items_[started].before = before;
  for (size_t i = 1; i < nodes.size(); ++i) {
    const HtmlNode& node = nodes[i];
    if (node.running || titles[i] == 0 || titles[i] > 2 || node.letters > kItemLetters) continue;
    Items& items = items_[node.parent];
    ++items.count;
    items.letters += node.letters;
  }
  for (size_t i = 1; i < nodes.size(); ++i) {
    if (items_[i].count < kItems || items_[i].letters * 100ULL < nodes[i].letters * kItemShare) continue;
    const bool behind_all = items_[i].before == before && before >= kItemBehindAll;
    nodes[i].stories = one_thing_ ? items_[i].before >= kItemBehind : behind_all;
  }
  for (size_t i = 1; i < nodes.size(); ++i)
    nodes[i].out = nodes[i].out || nodes[i].stories || nodes[nodes[i].parent].out;
}

// Drops marked boilerplate. As long as too little text remains, the largest such element loses its mark.
void Region::drop_boilerplate() {
  std::vector<HtmlNode>& nodes = *nodes_;
  const uint64_t all = sum();
  settle_marks();
  for (int round = 0; round < kRevocations; ++round) {
    uint32_t largest = 0, largest_of_page = 0;  // largest_of_page excludes elements that a site's pages share
    uint64_t rest = all, rest_letters = nodes[0].letters;
    for (uint32_t i = 1; i < nodes.size(); ++i) {
      HtmlNode& node = nodes[i];
      const bool around = nodes[node.parent].out || node.comment || node.stories;
      const bool says_so = has(node, kMarkBoilerplate | kMarkControl);
      node.out = around || says_so;
      if (around || !says_so) continue;
      rest -= node.plain;
      rest_letters -= node.letters;
      if (has(node, kMarkControl | kMarkConsent)) continue;
      if (largest == 0 || node.plain > nodes[largest].plain) largest = i;
      if (has(node, kMarkSite) && !has(node, kMarkHolds)) continue;
      if (largest_of_page == 0 || node.plain > nodes[largest_of_page].plain) largest_of_page = i;
    }
    if (rest_letters >= kRestLetters) largest = largest_of_page;
    if (rest >= kEnoughLetters && rest * 100 >= all * kRest) return;
    if (largest == 0 || nodes[largest].plain * 100ULL < all * kRevoked) return;
    nodes[largest].marks &= ~kMarkBoilerplate;
    nodes[largest].site = has(nodes[largest], kMarkSite) && !has(nodes[largest], kMarkHolds);
  }
}

// Whether an element next to the path belongs to the text: it is as plain as the region, or a paragraph.
bool Region::joins(const HtmlNode& node) const {
  if (node.out) return false;
  return node.running || (node.plain >= kJoins && node.linked * 100ULL <= node.letters * kJoinsLinks &&
                          node.plain * 100ULL >= node.letters * kJoinsPlain);
}

// If an article has other elements like `top` that are marked as content, they are parts of it, wherever they
// are: advertisements divide it. Returns the element around them, or `top`.
uint32_t Region::around_parts(uint32_t top) {
  const std::vector<HtmlNode>& nodes = *nodes_;
  if (!one_thing_) return top;
  std::vector<uint32_t>& parts = runs_;  // plain text in parts
  std::vector<uint32_t>& in_part = step_;
  parts.assign(nodes.size(), 0);
  in_part.assign(nodes.size(), 0);
  for (uint32_t i = 1; i < nodes.size(); ++i) {
    in_part[i] = in_part[nodes[i].parent];
    if (in_part[i] != 0 || nodes[i].out || !has(nodes[i], kMarkContent) || nodes[i].like != nodes[top].like)
      continue;
    in_part[i] = 1;
    parts[i] = nodes[i].plain;
  }
  for (size_t i = nodes.size(); i-- > 1;) parts[nodes[i].parent] += parts[i];
  if ((parts[0] - parts[top]) * 100ULL < uint64_t{parts[top]} * kParts) return top;
  uint32_t around = top;
  while (parts[around] < parts[0]) around = nodes[around].parent;
  return around;
}

// Returns the element with the most plain text of those marked as content. If it has similar siblings, such
// as posts, returns their parent.
uint32_t Region::marked_region(uint64_t all) {
  const std::vector<HtmlNode>& nodes = *nodes_;
  uint32_t top = 0;
  for (uint32_t i = 1; i < nodes.size(); ++i) {
    const HtmlNode& node = nodes[i];
    if (!has(node, kMarkContent) || node.out || node.plain * 100ULL < all * kRegion) continue;
    if (top == 0 || node.plain > nodes[top].plain) top = i;
  }
  if (top == 0 || nodes[top].parent == 0) return top;
  if (const uint32_t around = around_parts(top); around != top) return around;
  uint64_t beside = 0;
  for (uint32_t i = nodes[top].parent + 1; i < nodes.size(); ++i) {
    const HtmlNode& node = nodes[i];
    if (i != top && node.parent == nodes[top].parent && !node.out && has(node, kMarkContent))
      beside += node.plain;
  }
  return beside * 100 >= nodes[top].plain * kBeside ? nodes[top].parent : top;
}

// Children have larger numbers than their parents, so one loop finds the path.
uint32_t Region::descend(uint32_t top) {
  const std::vector<HtmlNode>& nodes = *nodes_;
  for (uint32_t i = top + 1; i < nodes.size(); ++i) {
    const HtmlNode& node = nodes[i];
    if (node.parent != top || node.out || node.plain < kEnoughLetters) continue;
    const uint64_t share = has(node, kMarkContent) ? kDescendMarked : marked_ ? kDescendInside : kDescend;
    if (node.plain * 100ULL < nodes[top].plain * share) continue;
    // A list below an introduction is not boilerplate.
    if (marked_ && !one_thing_ && node.letters * 100ULL < nodes[top].letters * kLettersInside) continue;
    passed_[top] = 1;
    top = i;
  }
  return top;
}

// On a page without plain text, <main> may be a list of links.
uint32_t Region::main_of_links() const {
  const std::vector<HtmlNode>& nodes = *nodes_;
  uint32_t top = 0;
  for (uint32_t i = 1; i < nodes.size(); ++i) {
    const HtmlNode& node = nodes[i];
    if (!has(node, kMarkMain) || node.out || node.letters < kEnoughLetters) continue;
    if (node.letters * 100ULL < nodes[0].letters * kMainLetters) continue;
    if (top == 0 || node.letters >= nodes[top].letters) top = i;
  }
  return top;
}

// Whether neither element contains the other.
bool Region::apart(uint32_t a, uint32_t b) const {
  const std::vector<HtmlNode>& nodes = *nodes_;
  const auto is_in = [&](uint32_t node, uint32_t other) {
    while (node > other) node = nodes[node].parent;
    return node == other;
  };
  return !is_in(a, b) && !is_in(b, a);
}

void Region::choose() {
  std::vector<HtmlNode>& nodes = *nodes_;
  const uint64_t all = sum();
  inside_.assign(nodes.size(), 0);
  passed_.assign(nodes.size(), 0);
  uint32_t top = all >= kEnoughLetters ? marked_region(all) : main_of_links();
  // A <main> around the whole page may contain a menu.
  marked_ = top != 0 && all >= kEnoughLetters;
  if (all >= kEnoughLetters) {
    top = descend(top);
    if (const uint32_t main = main_of_links(); main != 0 && (titled_[main] & 1) != 0 && apart(main, top)) {
      top = main;
      passed_.assign(nodes.size(), 0);
    }
    for (uint32_t i = 1; i < nodes.size(); ++i) {
      if (passed_[nodes[i].parent] != 0 && passed_[i] == 0 && joins(nodes[i])) inside_[i] = 1;
    }
  }
  inside_[top] = 1;
  for (size_t i = 1; i < nodes.size(); ++i) inside_[i] |= inside_[nodes[i].parent];
}

// The smallest element with most of the region's running text, or 0.
uint32_t Region::find_core() {
  const std::vector<HtmlNode>& nodes = *nodes_;
  const auto is_long = [&](const TextBlock& block) {
    return block.letters > kRunning && block.links < kManyLinks && !nodes[block.node].out && holds(block);
  };
  runs_.assign(nodes.size(), 0);
  paragraphs_.assign(nodes.size(), 0);
  for (const TextBlock& block : *blocks_) {
    if (!is_long(block)) continue;
    runs_[block.node] += block.letters - kRunning;
    ++paragraphs_[block.node];
  }
  for (size_t i = nodes.size(); i-- > 1;) {
    runs_[nodes[i].parent] += runs_[i];
    paragraphs_[nodes[i].parent] += paragraphs_[i];
  }
  step_.assign(nodes.size(), 0);
  uint32_t core = 0;
  if (runs_[0] < kCoreLeast) return core;
  for (uint32_t i = 1; i < nodes.size(); ++i) {
    const HtmlNode& node = nodes[i];
    if (node.parent != core || node.out || node.running || paragraphs_[i] < kCoreParagraphs) continue;
    if (runs_[i] * 100ULL < runs_[0] * kCore) continue;
    step_[core] = i;
    core = i;
  }
  side_by_side_ = 0;
  for (const TextBlock& block : *blocks_) {
    if (is_long(block) && (block.node == core || nodes[block.node].parent == core))
      side_by_side_ += block.letters - kRunning;
  }
  return one_thing_ || side_by_side_ * 100 >= runs_[core] * kSideBySide ? core : 0;
}

// Behind the element with most of an article, other elements are about other things: stories, a newsletter,
// the author, the shop. Paragraphs still belong to it, and so do elements like those on the path to its core,
// because an article may be divided into parts.
void Region::find_end() {
  const std::vector<HtmlNode>& nodes = *nodes_;
  behind_.assign(nodes.size(), 0);
  captions_.assign(blocks_->size(), 0);
  if (product_) return;
  const uint32_t core = find_core();
  if (core == 0) return;
  // Elements behind the core have larger numbers, and those in it have a parent without a step.
  for (uint32_t i = core + 1; i < nodes.size(); ++i) {
    const uint32_t next = step_[nodes[i].parent];
    const bool other = next != 0 && !nodes[i].running && nodes[i].like != nodes[next].like;
    behind_[i] = behind_[nodes[i].parent] != 0 || other ? kBehind : 0;
  }
  if (side_by_side_ * 100 >= runs_[core] * kSideBySide) find_inserts(core);
  find_captions();
}

// A box between the paragraphs of an article is about something else: a newsletter, a subscription, a poll, a
// film that needs consent. It is no running text itself, and holds a few short blocks, no table and no code.
void Region::find_inserts(uint32_t core) {
  const std::vector<HtmlNode>& nodes = *nodes_;
  std::vector<uint32_t>& lines = step_;  // for each element in the core, the number of blocks
  std::fill(lines.begin(), lines.end(), 0);
  for (const TextBlock& block : *blocks_) ++lines[block.node];
  for (size_t i = nodes.size(); i-- > core + 1;) {
    if (nodes[i].no_box) lines[i] += kInsertLines;
    lines[nodes[i].parent] += lines[i];
  }
  for (uint32_t i = core + 1; i < nodes.size(); ++i) {
    const HtmlNode& node = nodes[i];
    const bool box = node.parent == core && !node.running && !node.out && paragraphs_[i] == 0 &&
                     lines[i] != 0 && lines[i] <= kInsertLines;
    if (box || behind_[node.parent] == kInsert) behind_[i] = kInsert;
  }
}

// In an article, the text beside a picture is its caption: at most two blocks, in an element that is no
// running text itself. If much of the region looks so, pictures and texts alternate.
void Region::find_captions() {
  const std::vector<TextBlock>& blocks = *blocks_;
  std::vector<HtmlNode>& nodes = *nodes_;
  std::vector<uint32_t>& lines = step_;  // for each element, the number of blocks
  lines.assign(nodes.size(), 0);
  for (const TextBlock& block : blocks) ++lines[block.node];
  for (size_t i = nodes.size(); i-- > 1;) {
    lines[nodes[i].parent] += lines[i];
    if (nodes[i].picture) nodes[nodes[i].parent].picture = true;
  }
  uint64_t all = 0, captions = 0;  // letters in the region
  for (size_t b = 0; b < blocks.size(); ++b) {
    const bool text = holds(blocks[b]) && !nodes[blocks[b].node].out;
    if (text) all += blocks[b].letters;
    if (blocks[b].heading || blocks[b].letters > kCaptionLetters) continue;
    for (uint32_t i = blocks[b].node; i != 0 && lines[i] <= kCaptionLines; i = nodes[i].parent, ++steps_) {
      if (captions_[b] != 0 || nodes[i].no_box || nodes[i].list) break;
      captions_[b] = nodes[i].picture && !nodes[i].running && !nodes[nodes[i].parent].list ? 1 : 0;
    }
    if (text && captions_[b] != 0) captions += blocks[b].letters;
  }
  if (captions * kCaptionsMost >= all) captions_.assign(blocks.size(), 0);
  for (size_t b = 0; b < blocks.size(); ++b) {
    unsigned char& behind = behind_[blocks[b].node];
    if (captions_[b] != 0 && behind == 0) behind = kInsert;
  }
}

bool Region::may_lead(const TextBlock& block) {
  const std::vector<HtmlNode>& nodes = *nodes_;
  if (block.letters < kLeadLetters || block.links >= kLeadLinks) return false;
  if (!nodes[block.node].out) return true;
  for (uint32_t i = block.node; i != 0; i = nodes[i].parent, ++steps_) {
    if (has(nodes[i], kMarkLead)) return true;
    if (has(nodes[i], kMarkBoilerplate | kMarkComments | kMarkControl)) return false;
  }
  return false;
}

// Finds the text between the title and the main text, in whatever elements it is.
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
    if (captions_[i] != 0 || !may_lead(blocks[i])) continue;
    lead_[i] = 1;
    ++leads;
  }
}

}  // namespace doppel

#pragma once
// Where on a page its text is. No words of any language are known here: it is seen from the length of blocks,
// from how much of them is links, from where they are, and from what elements say of themselves
// (html_marks.h).

#include <cstddef>
#include <cstdint>
#include <vector>

#include "formats/html/html_marks.h"

namespace doppel {

// An element that is not in-line, in the order of start tags: parents come first. Number 0 is the page.
struct HtmlNode {
  uint32_t parent = 0;
  Marks marks = 0;
  bool running = false;  // a paragraph, a heading, a list: what text is made of
  // Found by Region.
  bool comment = false;  // of readers, or in such an element
  bool out = false;      // boilerplate or a comment, or in such an element
  bool site = false;     // what all pages of a site have, though it was taken for text for lack of any
  uint32_t plain = 0;    // letters of plain text in it, besides what is out
  uint32_t letters = 0;  // all letters
  uint32_t linked = 0;   // those of links
};

struct TextBlock {
  size_t begin = 0;  // in the page's visible text
  size_t end = 0;
  size_t link_bytes = 0;
  uint32_t node = 0;
  bool heading = false;
  bool title = false;  // h1
  // Found by MainText.
  uint32_t letters = 0;  // an ideograph counts three
  uint32_t links = 0;    // percent
};

// Letters. From here on a block without many links is plain text,
inline constexpr uint32_t kPlainLetters = 40;
// and from here on it belongs to the region that it is in.
inline constexpr uint32_t kGoodLetters = 50;
// Less than this is not what a page is for.
inline constexpr uint32_t kEnoughLetters = 200;
inline constexpr uint32_t kManyLinks = 50;  // percent

// One for each thread; linear in blocks and nodes.
class Region {
 public:
  // `one_thing`: the page is about one article or product.
  void find(const std::vector<TextBlock>& blocks, std::vector<HtmlNode>& nodes, bool one_thing);

  // What belongs to the region, apart from what is `out`.
  bool holds(const TextBlock& block) const { return inside_[block.node] != 0 || passed_[block.node] != 0; }
  // Whether the region is in something that says that it is content.
  bool is_marked() const { return marked_; }
  // Whether the block with this number introduces the text, from outside of the region.
  bool is_lead(size_t block) const { return lead_[block] != 0; }

 private:
  uint64_t sum();
  void drop_comments();
  void drop_boilerplate();
  void settle_marks();
  void choose();
  uint32_t marked_region(uint64_t all) const;
  uint32_t descend(uint32_t top);
  uint32_t main_of_links() const;
  bool joins(const HtmlNode& node) const;
  void find_leads();
  bool may_lead(const TextBlock& block) const;

  const std::vector<TextBlock>* blocks_ = nullptr;
  std::vector<HtmlNode>* nodes_ = nullptr;
  std::vector<unsigned char> inside_;
  std::vector<unsigned char> passed_;  // elements on the way down to the region: text directly in them
  std::vector<unsigned char> lead_;
  bool marked_ = false, one_thing_ = false;
};

}  // namespace doppel

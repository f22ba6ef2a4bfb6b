#pragma once
// Finds where on a page its text is. It knows no words of any language: it uses the length of blocks, their
// share of links, their position, and the marks of elements (html_marks.h).

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "formats/html/html_marks.h"

namespace doppel {

// An element that is not in-line, in the order of start tags, so parents come first. Number 0 is the page.
struct HtmlNode {
  uint32_t parent = 0;
  Marks marks = 0;
  Marks names = 0;          // suggested by its class and id
  uint32_t class_hash = 0;  // if `names` says anything; 0 without a class
  uint32_t like = 0;        // siblings with the same are alike: equal in name and first class
  bool title = false;       // an h1
  bool running = false;     // a paragraph, a heading, a list: what text consists of
  bool no_box = false;      // a cell of a table, or code: no box between paragraphs holds one
  bool list = false;        // of items
  bool picture = false;     // has one, or is around one (set by Region)
  // The following members are set by Region.
  bool comment = false;  // in or part of readers' comments
  bool stories = false;  // behind the text of an article, a list of others
  bool out = false;      // in or part of boilerplate or comments
  bool site = false;     // shared by all pages of a site, but used as text because there is no other
  uint32_t plain = 0;    // letters of plain text; like the next two, without elements that are out
  uint32_t letters = 0;  // all letters
  uint32_t linked = 0;   // letters in links
};

struct TextBlock {
  size_t begin = 0;  // in the page's visible text
  size_t end = 0;
  size_t link_bytes = 0;
  uint32_t node = 0;
  bool heading = false;
  bool title = false;  // is an h1
  // The following members are set by MainText.
  uint32_t letters = 0;  // an ideograph counts as three
  uint32_t links = 0;    // percent
};

// Letters from which a block without many links is plain text,
inline constexpr uint32_t kPlainLetters = 40;
// and from which it belongs to the region that it is in.
inline constexpr uint32_t kGoodLetters = 50;
// Letters of a page; one with less is nearly empty.
inline constexpr uint32_t kEnoughLetters = 200;
inline constexpr uint32_t kManyLinks = 50;  // percent

// What a page is about, by its own markup: many things, such as a listing; one article; one product.
enum class Subject : unsigned char { many, article, product };

// One for each thread. Linear in blocks and nodes.
class Region {
 public:
  void find(const std::vector<TextBlock>& blocks, std::vector<HtmlNode>& nodes, Subject subject);

  // Whether the block belongs to the region. Does not check `out`.
  bool holds(const TextBlock& block) const {
    return behind_[block.node] == 0 && (inside_[block.node] != 0 || passed_[block.node] != 0);
  }
  // How many elements were climbed, beside those visited once each.
  uint64_t steps() const { return steps_; }
  // Whether the region is in an element marked as content.
  bool is_marked() const { return marked_; }
  // Whether the block is in a box between the paragraphs of an article.
  bool is_insert(const TextBlock& block) const { return behind_[block.node] == kInsert; }
  // Whether the block with this number introduces the text from outside the region.
  bool is_lead(size_t block) const { return lead_[block] != 0; }

 private:
  void weigh_names();
  uint64_t sum();
  void drop_comments();
  void drop_boilerplate();
  void settle_marks();
  void drop_stories();
  void choose();
  uint32_t marked_region(uint64_t all);
  uint32_t around_parts(uint32_t top);
  uint32_t descend(uint32_t top);
  uint32_t main_of_links() const;
  bool apart(uint32_t a, uint32_t b) const;
  bool joins(const HtmlNode& node) const;
  void find_end();
  void find_inserts(uint32_t core);
  uint32_t find_core();
  void find_captions();
  void find_leads();
  bool may_lead(const TextBlock& block);

  const std::vector<TextBlock>* blocks_ = nullptr;
  std::vector<HtmlNode>* nodes_ = nullptr;
  std::vector<unsigned char> inside_;
  std::vector<unsigned char> passed_;  // elements on the path down to the region, whose own text counts
  static constexpr unsigned char kBehind = 1, kInsert = 2;
  std::vector<unsigned char> behind_;           // elements behind the end of the article, and boxes in it
  std::vector<unsigned char> lead_, captions_;  // by block
  struct Items {
    uint32_t count = 0, letters = 0;  // of its children that are items
    uint32_t before = 0;              // running text before the element
  };
  std::vector<Items> items_;
  absl::flat_hash_map<uint32_t, uint32_t> runs_of_class_;  // by HtmlNode::class_hash
  std::vector<uint32_t> runs_;                             // for each element, the weight of its running text
  std::vector<uint32_t> paragraphs_;                       // for each element, the number of long blocks
  uint64_t side_by_side_ = 0;                              // running text of the core's own paragraphs
  std::vector<uint32_t> step_;         // for each element on the path to the core, the next one
  std::vector<unsigned char> titled_;  // 1: contains an h1; 2: is inside of an element of content
  uint64_t steps_ = 0;
  bool marked_ = false, one_thing_ = false, product_ = false;
};

}  // namespace doppel

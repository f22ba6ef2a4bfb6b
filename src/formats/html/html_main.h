#pragma once
// Which of a page's blocks are what the page is for.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "formats/html/html_region.h"

namespace doppel {

// What becomes of a block, or why it is left out.
enum class BlockFate : unsigned char {
  taken,
  boilerplate,  // it is in an element that says so
  comment,      // of a reader
  title,        // of the page, above its text
  outside,      // of the region with the text
  links,
  little,   // short, and not between text
  repeated  // the same as a block before
};
std::string_view fate_name(BlockFate fate);

// An ideograph counts three.
uint32_t letters_of(std::string_view text);

struct HashOfBlock {
  size_t operator()(std::string_view text) const;
};

// One for each thread; linear in blocks and nodes.
class MainText {
 public:
  // The chosen blocks, a line each; all of `text` where there is nothing but links and boilerplate. Lives
  // until the next call, or as long as `text`.
  std::string_view choose(std::string_view text, std::vector<TextBlock>& blocks, std::vector<HtmlNode>& nodes,
                          bool one_thing);

  // Whether what was found on the last page is less than pages are for.
  bool nearly_empty() const { return nearly_empty_; }
  // Letters of the chosen blocks that are long and no links.
  uint64_t plain_letters() const { return plain_; }
  // Whether it may be the same on other pages: next to nothing among things that were left out, or what says
  // that it is navigation or a footer.
  bool is_fallback() const { return fallback_; }
  // The text is elsewhere: no block of the page is part of it.
  void drop_all();

  // What became of each block of the last page.
  const std::vector<BlockFate>& fates() const { return fates_; }

 private:
  enum class Grade : unsigned char { bad, brief, linked, good };

  Grade grade_of(size_t block);
  void drop_title();
  void settle();
  uint64_t taken_letters() const;
  void collect(std::string_view text);
  void take_lists(bool one_thing);
  void drop_repeats(std::string_view text);
  void take_what_is_left();
  bool is_fallback_text();

  std::vector<TextBlock>* blocks_ = nullptr;
  std::vector<HtmlNode>* nodes_ = nullptr;
  Region region_;
  std::vector<BlockFate> fates_;
  std::vector<unsigned char> dialogs_;
  std::vector<Grade> grades_, before_, behind_;
  std::string out_;
  absl::flat_hash_set<std::string_view, HashOfBlock> seen_;
  bool nearly_empty_ = false, fallback_ = false;
  uint64_t plain_ = 0;
  bool list_ = false;  // the text is a list for lack of anything longer
};

}  // namespace doppel

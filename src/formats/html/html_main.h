#pragma once
// Selects the blocks that are a page's main text.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "formats/html/html_region.h"

namespace doppel {

// Whether a block is taken, or why it is left out.
enum class BlockFate : unsigned char {
  taken,
  boilerplate,  // in an element marked as boilerplate
  comment,      // by a reader
  title,        // of the page, above its text
  outside,      // outside the region with the text
  insert,       // in a box between the paragraphs of an article
  links,
  little,   // short, and not between blocks of text
  repeated  // identical to an earlier block
};
std::string_view fate_name(BlockFate fate);

// The number of letters; an ideograph counts as three.
uint32_t letters_of(std::string_view text);

struct HashOfBlock {
  size_t operator()(std::string_view text) const;
};

// One for each thread. Linear in blocks and nodes.
class MainText {
 public:
  // Returns the chosen blocks, one in each line; all of `text` if there are only links and boilerplate. Valid
  // until the next call, or as long as `text`.
  std::string_view choose(std::string_view text, std::vector<TextBlock>& blocks, std::vector<HtmlNode>& nodes,
                          Subject subject);

  // Whether the last page had too little text for the purpose of a page.
  bool nearly_empty() const { return nearly_empty_; }
  // Letters of the chosen blocks that are long and not links.
  uint64_t plain_letters() const { return plain_; }
  // Whether other pages may have the same text: very little while other blocks were left out, or blocks
  // marked as navigation or footer.
  bool is_fallback() const { return fallback_; }
  uint64_t steps() const { return region_.steps(); }  // of the last page
  // Call this if another text replaces the page's: marks all blocks as not taken.
  void drop_all();

  // The fate of each block of the last page.
  const std::vector<BlockFate>& fates() const { return fates_; }

 private:
  enum class Grade : unsigned char { bad, brief, linked, good };

  const HtmlNode* list_of_text(uint32_t node) const;
  Grade grade_of(size_t block);
  void drop_title();
  void settle();
  uint64_t taken_letters() const;
  void collect(std::string_view text);
  void take_lists(bool one_thing);
  void drop_dates(std::string_view text);
  void drop_slides(std::string_view text);
  uint32_t end_of_branch(uint32_t first, uint32_t last) const;
  void drop_last_headings();
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
  absl::flat_hash_map<std::string_view, uint32_t, HashOfBlock> seen_;
  struct Repeats {
    uint32_t all = 0, again = 0;
  };
  std::vector<Repeats> repeats_;
  bool nearly_empty_ = false, fallback_ = false;
  uint64_t plain_ = 0;
  bool list_ = false;  // the text is a list, because there is nothing longer
};

}  // namespace doppel

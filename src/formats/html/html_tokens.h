#pragma once
// The tokens of a page, after the tokenization states of the HTML standard. A state is a scan for the byte
// that ends it. Views point into the page wherever nothing had to be decoded, and nothing is allocated for a
// token. The work is linear in the page.
//
// Not done here: line ends (CR is white space like LF), zero bytes (the caller replaces them), the fields of
// a DOCTYPE.

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

namespace doppel {

// How the bytes behind a start tag are read: as markup; as text with references up to the end tag; as text up
// to the end tag; as a script; as text up to the end of the page.
enum class HtmlContent : unsigned char { markup, rcdata, raw, script, plain };

// The attributes that rules read. All other ones are skipped.
enum class HtmlAttribute : unsigned char {
  class_,
  id,
  style,
  hidden,
  role,
  aria_modal,
  itemprop,
  itemtype,
  href,
  type,
  name,
  property,
  content,
  shadowroot,
  shadowrootmode,
  data_sid,
  data_bid,
  data_pid,
  src,
  aria_labelledby,
  other
};

struct HtmlAttributeValue {
  HtmlAttribute attribute = HtmlAttribute::other;
  std::string_view name;     // as written
  std::string_view written;  // the value
  std::string_view value;    // with its references resolved
};

// The first eight bytes of a name in lower case, in the order of memory: equal keys of names of up to eight
// bytes are equal names.
constexpr uint64_t html_name_key(std::string_view name) {
  uint64_t key = 0;
  for (size_t i = 0; i < name.size() && i < 8; ++i) {
    const char c = name[i];
    key |= uint64_t{static_cast<unsigned char>(c >= 'A' && c <= 'Z' ? c + 32 : c)} << (8 * i);
  }
  return key;
}

struct HtmlToken {
  enum class Kind : unsigned char { text, start, end, comment, doctype, done };
  Kind kind = Kind::done;
  bool self_closing = false;
  size_t begin = 0, end = 0;  // in the page
  std::string_view text;      // of a text, a comment
  std::string_view name;      // of a tag, as written
  uint64_t key = 0;           // html_name_key(name)
};

class HtmlTokens {
 public:
  // `every_attribute`: also those that no rule reads.
  void begin(std::string_view page, bool every_attribute = false);
  // The next token. Valid until the next call. After the end, `done` for ever.
  const HtmlToken& next();

  // The attributes of the start tag that next() returned; each of the known ones once.
  const std::vector<HtmlAttributeValue>& attributes() const { return attributes_; }
  // Call this for a start tag whose content is not markup. `name` is of the end tag that ends it.
  void read_as(HtmlContent content, std::string_view name);
  // Where the text ends that read_as() began.
  size_t end_of_text() const { return static_cast<size_t>((stop_ == nullptr ? at_ : stop_) - begin_); }
  // Whether "<![CDATA[" begins text, as inside of svg and math.
  void allow_cdata(bool allowed) { cdata_ = allowed; }

 private:
  bool text();
  bool special_text();
  bool markup();
  bool bogus(size_t skip);
  bool declaration();
  bool comment();
  bool tag(size_t skip, bool closing);
  const char* attribute(const char* at, bool closing);
  const char* end_of_special(HtmlContent content) const;
  const char* end_of_script() const;
  bool names_here(const char* at, std::string_view name) const;
  bool give(HtmlToken::Kind kind, const char* begin, const char* end);
  std::string_view decoded(std::string_view value);

  const char* begin_ = nullptr;
  const char* at_ = nullptr;
  const char* end_ = nullptr;
  const char* stop_ = nullptr;  // the end of special text, if there is any
  HtmlToken token_;
  std::string special_;  // the name whose end tag ends the special text
  bool rcdata_ = false, cdata_ = false, every_attribute_ = false;
  uint32_t seen_ = 0;  // a bit for each attribute of the tag
  std::vector<HtmlAttributeValue> attributes_;
  std::deque<std::string> decoded_;
  size_t decodings_ = 0;
  std::array<char, 4> character_{};
};

// Character references by the HTML standard: names with and without a semicolon, and numbers.
// Resolves the reference at the start of `text`, which begins with an ampersand. Returns its length, or 0 if
// it is no reference but text. `out` gets its characters; those of a number are in `buffer`.
size_t resolve_reference(std::string_view text, bool in_attribute, std::string_view& out,
                         std::array<char, 4>& buffer);

}  // namespace doppel

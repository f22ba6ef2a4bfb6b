#include "text/words.h"

#include <algorithm>
#include <array>

#include "base/bytes.h"
#include "base/simd.h"
#include "base/utf8.h"
#include "text/kernels.h"
#include "text/normaliser.h"
#include "text/unicode.h"

namespace doppel {
namespace {

using namespace unicode;

// A normalised code point and the original bytes that it came from.
struct Item {
  char32_t c;
  size_t begin;
  size_t end;
};

constexpr char32_t kSpace = U' ';

// Decodes the text and replaces every code point with its complete mapping.
std::vector<Item> mapped_items(std::string_view text) {
  std::vector<Item> items;
  const auto* bytes = reinterpret_cast<const uint8_t*>(text.data());
  for (size_t at = 0; at < text.size();) {
    char32_t c = 0;
    int size = utf8::decode(bytes + at, text.size() - at, c);
    if (size <= 0) {
      c = kSpace;
      size = 1;
    }
    const size_t end = at + static_cast<size_t>(size);
    const uint16_t value = value_of(c);
    if (value >= kMapped) {
      const uint8_t* entry = kPool + 4 * static_cast<size_t>(value - kMapped);
      for (size_t from = 0; from < entry[0];) {
        char32_t to = 0;
        from += static_cast<size_t>(utf8::decode(entry + sizeof(Mapping) + from, entry[0] - from, to));
        items.push_back({to, at, end});
      }
    } else if (value == kHangul) {
      const auto index = static_cast<uint32_t>(c) - 0xac00;
      items.push_back({0x1100 + index / (21 * 28), at, end});
      items.push_back({0x1161 + index / 28 % 21, at, end});
      if (index % 28 != 0) items.push_back({0x11a7 + index % 28, at, end});
    } else if (value != kIgnored) {
      items.push_back({c, at, end});
    }
    at = end;
  }
  return items;
}

// Brings marks into canonical order, in runs of at most Normaliser::kMaxRun; then replaces U+0345 with a
// letter.
void order_marks(std::vector<Item>& items) {
  for (auto at = items.begin(); at != items.end();) {
    auto end = at;
    while (end != items.end() && end - at < Normaliser::kMaxRun && combining_class(end->c) != 0) ++end;
    for (auto next = at; next != end; ++next) {
      auto place = std::upper_bound(at, next, *next, [](const Item& x, const Item& y) {
        return combining_class(x.c) < combining_class(y.c);
      });
      std::rotate(place, next, next + 1);
    }
    at = end == at ? at + 1 : end;
  }
  for (Item& item : items) {
    if (item.c == kYpogegrammeni) item.c = U'ι';
  }
}

enum : uint8_t { kBetween = 0, kInWord = 1, kNotAscii = 2 };
constexpr std::array<uint8_t, 256> kByteClasses = [] {
  std::array<uint8_t, 256> out{};
  for (size_t c = 0; c < 256; ++c) {
    const bool in_word =
        (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
    out[c] = c >= 0x80 ? kNotAscii : in_word ? kInWord : kBetween;
  }
  return out;
}();
uint8_t class_of(char c) { return kByteClasses[static_cast<uint8_t>(c)]; }

// A word without the marks that Normalisation::loose drops.
std::string without_marks(std::string_view word) {
  std::string out;
  for (size_t i = 0; i < word.size(); ++i) {
    const auto c = static_cast<uint8_t>(word[i]);
    if (c == 0xcc || (c == 0xcd && static_cast<uint8_t>(word[i + 1]) <= 0xaf)) {
      ++i;
    } else {
      out += word[i];
    }
  }
  return out;
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(std::string_view word) {
  return word.size() == 1 && ((word[0] >= 'a' && word[0] <= 'z') || (word[0] >= 'A' && word[0] <= 'Z'));
}

// The only character between two words, as far as characters between them count; else 0.
char only_between(std::string_view text) {
  char out = 0;
  const auto* bytes = reinterpret_cast<const uint8_t*>(text.data());
  for (size_t at = 0; at < text.size();) {
    char32_t c = 0;
    const int size = utf8::decode(bytes + at, text.size() - at, c);
    if (size <= 0) return 0;
    at += static_cast<size_t>(size);
    if (value_of(c) == kIgnored || (c >= 0x300 && c <= 0x36f)) continue;
    if (out != 0 || c >= 0x80 || c == 0) return 0;
    out = static_cast<char>(c);
  }
  return out;
}

// Makes one word of those that Normalisation::loose reads as one.
class Joining {
 public:
  // `word`: as it is compared, but for case and digits.
  void add(std::string_view text, WordPlace place, std::string_view word, std::vector<WordPlace>& out,
           bool apart_before = false, bool apart_after = false) {
    const char between = out.empty() || place.begin <= out.back().end || apart_ || apart_before
                             ? '\0'
                             : only_between(text.substr(out.back().end, place.begin - out.back().end));
    const bool letter = is_letter(word);
    if ((between == '.' && letter && letter_) ||
        ((between == '.' || between == ',') && digit_ && is_digit(word.front()))) {
      out.back().end = place.end;
    } else {
      out.push_back(place);
    }
    letter_ = letter;
    digit_ = is_digit(word.back());
    apart_ = apart_after;
  }

 private:
  bool letter_ = false, digit_ = false;  // the last word is a letter, ends with a digit
  bool apart_ = false;                   // something that is not in the text follows it
};

// Finds the words of text[at..) that are ASCII, a block at a time. Returns the position up to which it found
// all of them: a word that may continue behind it is left to the caller.
class AsciiWords {
 public:
  template <typename Add>
  size_t find(std::string_view text, size_t at, const Add& add) {
    const TextKernels& kernels = text_kernels(simd_level());
    const size_t n = std::min(kBlock, text.size() - at);
    size_t end = kernels.copy_ascii(reinterpret_cast<const uint8_t*>(text.data()) + at, n, lower_.data());
    if (at + end < text.size())
      while (end > 0 && class_of(text[at + end - 1]) != kBetween) --end;
    size_t count = kernels.find_edges(lower_.data(), end, 0, false, edges_.data());
    if (count % 2 != 0) edges_[count++] = static_cast<uint16_t>(end);
    for (size_t i = 0; i < count; i += 2) add(WordPlace{at + edges_[i], at + edges_[i + 1]});
    return at + end;
  }

 private:
  static constexpr size_t kBlock = 8'192;
  // Not arrays: each thread has one of these, and a process that loads the library late has little room for
  // the variables of threads.
  PodVector<uint8_t> lower_ = PodVector<uint8_t>(kBlock + kKernelSlack);
  PodVector<uint16_t> edges_ = PodVector<uint16_t>(kBlock + kEdgeSlack);
};

}  // namespace

// No word extends past an ASCII character that does not belong to words.
std::vector<WordPlace> word_places(std::string_view text, Normalisation normalisation) {
  std::vector<WordPlace> out;
  constexpr size_t kBytesOfWord = 5;
  out.reserve(text.size() / kBytesOfWord);
  const bool loose = normalisation == Normalisation::loose;
  Joining joining;
  const auto add = [&](WordPlace place) {
    if (loose) {
      joining.add(text, place, text.substr(place.begin, place.end - place.begin), out);
    } else {
      out.push_back(place);
    }
  };
  thread_local AsciiWords ascii;
  for (size_t at = 0; at < text.size();) {
    at = ascii.find(text, at, add);
    size_t end = at;
    uint8_t all = 0;
    for (; end < text.size() && class_of(text[end]) != kBetween; ++end) all |= class_of(text[end]);
    if (at == end) continue;
    if (all == kInWord || normalisation == Normalisation::none) {
      add({at, end});
    } else {
      for (const WordSpan& word : split_words(text.substr(at, end - at))) {
        const WordPlace place{at + word.begin, at + word.end};
        const std::string loosened = loose ? without_marks(word.text) : word.text;
        if (loosened.empty()) continue;
        if (loose) {
          joining.add(text, place, loosened, out, word.apart_before, word.apart_after);
        } else {
          out.push_back(place);
        }
      }
    }
    at = end;
  }
  return out;
}

std::vector<WordSpan> split_words(std::string_view text) {
  std::vector<Item> items = mapped_items(text);
  order_marks(items);
  std::vector<WordSpan> words;
  enum { none, word, single } open = none;
  size_t separated = 0;  // end of the last character with a separator
  for (const Item& item : items) {
    const uint16_t value = value_of(item.c);
    if (value == kSeparator) {
      if (!words.empty() && words.back().end == item.end) words.back().apart_after = true;
      separated = item.end;
      open = none;
      continue;
    }
    const bool mark = value == kMark || value >= kClassed;
    if (open == none || (!mark && (open == single || value == kSingle))) {
      words.push_back({item.begin, item.end, "", separated == item.end});
      open = value == kSingle ? single : word;
    }
    uint8_t bytes[4];
    int size = utf8::encode(item.c, bytes);
    WordSpan& last = words.back();
    last.text.append(reinterpret_cast<char*>(bytes), static_cast<size_t>(size));
    last.begin = std::min(last.begin, item.begin);
    last.end = std::max(last.end, item.end);
  }
  return words;
}

}  // namespace doppel

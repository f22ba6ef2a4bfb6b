#include "text/words.h"

#include <algorithm>
#include <array>

#include "base/utf8.h"
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

// Whether a word becomes empty when its marks are dropped.
bool vanishes_loosened(std::string_view word) {
  for (size_t i = 0; i < word.size(); i += 2) {
    const auto first = static_cast<uint8_t>(word[i]);
    if (first != 0xcc && (first != 0xcd || static_cast<uint8_t>(word[i + 1]) > 0xaf)) return false;
  }
  return true;
}

}  // namespace

// No word extends past an ASCII character that does not belong to words.
std::vector<WordPlace> word_places(std::string_view text, Normalisation normalisation) {
  std::vector<WordPlace> out;
  constexpr size_t kBytesOfWord = 6;
  out.reserve(text.size() / kBytesOfWord);
  for (size_t at = 0; at < text.size();) {
    uint8_t all = class_of(text[at]);
    if (all == kBetween) {
      ++at;
      continue;
    }
    size_t end = at + 1;
    for (; end < text.size() && class_of(text[end]) != kBetween; ++end) all |= class_of(text[end]);
    if (all == kInWord || normalisation == Normalisation::none) {
      out.push_back({at, end});
    } else {
      for (const WordSpan& word : split_words(text.substr(at, end - at))) {
        if (normalisation == Normalisation::loose && vanishes_loosened(word.text)) continue;
        out.push_back({at + word.begin, at + word.end});
      }
    }
    at = end + 1;
  }
  return out;
}

std::vector<WordSpan> split_words(std::string_view text) {
  std::vector<Item> items = mapped_items(text);
  order_marks(items);
  std::vector<WordSpan> words;
  enum { none, word, single } open = none;
  for (const Item& item : items) {
    const uint16_t value = value_of(item.c);
    if (value == kSeparator) {
      open = none;
      continue;
    }
    const bool mark = value == kMark || value >= kClassed;
    if (open == none || (!mark && (open == single || value == kSingle))) {
      words.push_back({item.begin, item.end, ""});
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

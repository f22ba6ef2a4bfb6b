#include "formats/warc/idna.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <utility>

#include "base/utf8.h"

namespace doppel {
namespace {

struct Mapped {
  char32_t first, last;
  uint32_t step, add;
};
struct Several {
  char32_t of;
  uint32_t at, count;
};
struct Pair {
  char32_t a, b, c;  // kComposed: a and b make c; kDecomposed: a is b and c
};
struct Class {
  char32_t first, last;
  uint32_t value;
};
struct Range {
  char32_t first, last;
};

#include "formats/warc/nameprep.inc"

constexpr size_t kMaxLabel = 63;

// The last entry that starts at or before c, if it contains c.
template <typename T, size_t kSize>
const T* entry_of(const T (&table)[kSize], char32_t c) {
  const T* after = std::upper_bound(std::begin(table), std::end(table), c,
                                    [](char32_t x, const T& e) { return x < e.first; });
  return after == std::begin(table) || (after - 1)->last < c ? nullptr : after - 1;
}

template <size_t kSize>
bool is_in(const Range (&table)[kSize], char32_t c) {
  return entry_of(table, c) != nullptr;
}

uint32_t class_of(char32_t c) {
  const Class* found = entry_of(kClasses, c);
  return found == nullptr ? 0 : found->value;
}

// Appends what IDNA maps c to.
void append_mapped(char32_t c, std::u32string& out) {
  if (c >= 'A' && c <= 'Z') c += 32;
  const auto several = std::lower_bound(std::begin(kSeveral), std::end(kSeveral), c,
                                        [](const Several& s, char32_t x) { return s.of < x; });
  if (several != std::end(kSeveral) && several->of == c) {
    out.append(kLetters + several->at, several->count);
    return;
  }
  const Mapped* run = entry_of(kMapped, c);
  if (run != nullptr && (c - run->first) % run->step == 0) c += run->add;
  out += c;
}

void append_decomposed(char32_t c, std::u32string& out) {
  const auto found = std::lower_bound(std::begin(kDecomposed), std::end(kDecomposed), c,
                                      [](const Pair& p, char32_t x) { return p.a < x; });
  if (found == std::end(kDecomposed) || found->a != c) {
    out += c;
    return;
  }
  append_decomposed(found->b, out);
  append_decomposed(found->c, out);
}

// 0 if the two do not compose.
char32_t composed(char32_t a, char32_t b) {
  constexpr char32_t kL = 0x1100, kV = 0x1161, kT = 0x11a7, kS = 0xac00;
  if (a >= kL && a < kL + 19 && b >= kV && b < kV + 21) return kS + ((a - kL) * 21 + (b - kV)) * 28;
  if (a >= kS && a < kS + 11172 && (a - kS) % 28 == 0 && b > kT && b < kT + 28) return a + (b - kT);
  const auto found = std::lower_bound(
      std::begin(kComposed), std::end(kComposed), std::pair(a, b),
      [](const Pair& p, const std::pair<char32_t, char32_t>& x) { return std::pair(p.a, p.b) < x; });
  return found != std::end(kComposed) && found->a == a && found->b == b ? found->c : 0;
}

std::u32string normalised(std::u32string_view text) {
  std::u32string mapped, parts;
  for (const char32_t c : text) append_mapped(c, mapped);
  for (const char32_t c : mapped) append_decomposed(c, parts);
  for (size_t i = 0; i < parts.size();) {
    size_t end = i + 1;
    while (end < parts.size() && class_of(parts[end]) != 0) ++end;
    std::stable_sort(parts.begin() + static_cast<ptrdiff_t>(class_of(parts[i]) == 0 ? i + 1 : i),
                     parts.begin() + static_cast<ptrdiff_t>(end),
                     [](char32_t a, char32_t b) { return class_of(a) < class_of(b); });
    i = end;
  }
  std::u32string out;
  size_t starter = std::u32string::npos;
  uint32_t last = 0;
  for (const char32_t c : parts) {
    const uint32_t its = class_of(c);
    const bool blocked = starter == std::u32string::npos || (starter + 1 != out.size() && last >= its);
    if (!blocked) {
      if (const char32_t both = composed(out[starter], c); both != 0) {
        out[starter] = both;
        continue;
      }
    }
    if (its == 0) starter = out.size();
    last = its;
    out += c;
  }
  return out;
}

// Whether a label breaks the rules of right-to-left text: if it has such a letter, it must start and end with
// one, and have no left-to-right letters.
bool reads_both_ways(std::u32string_view label) {
  const auto is_right = [](char32_t c) { return is_in(kRightToLeft, c); };
  if (std::none_of(label.begin(), label.end(), is_right)) return false;
  return !is_right(label.front()) || !is_right(label.back()) ||
         std::any_of(label.begin(), label.end(), [](char32_t c) {
           return is_in(kLeftToRight, c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
         });
}

// RFC 3492.
std::string punycode(std::u32string_view label) {
  constexpr uint32_t kBase = 36, kLeast = 1, kMost = 26, kSkew = 38, kDamp = 700;
  const auto digit = [](uint32_t d) { return static_cast<char>(d < 26 ? 'a' + d : '0' + d - 26); };
  std::string out;
  for (const char32_t c : label)
    if (c < 0x80) out += static_cast<char>(c);
  const auto plain = static_cast<uint32_t>(out.size());
  if (plain != 0) out += '-';
  uint32_t n = 0x80, bias = 72, done = plain;
  uint64_t delta = 0;
  while (done < label.size()) {
    char32_t next = 0x110000;
    for (const char32_t c : label)
      if (c >= n) next = std::min(next, c);
    delta += uint64_t{next - n} * (done + 1);
    n = next;
    for (const char32_t c : label) {
      if (c < n) ++delta;
      if (c != n) continue;
      uint64_t q = delta;
      for (uint32_t k = kBase;; k += kBase) {
        const uint32_t t = k <= bias ? kLeast : std::min(k - bias, kMost);
        if (q < t) break;
        out += digit(t + static_cast<uint32_t>((q - t) % (kBase - t)));
        q = (q - t) / (kBase - t);
      }
      out += digit(static_cast<uint32_t>(q));
      delta = done == plain ? delta / kDamp : delta / 2;
      delta += delta / (done + 1);
      uint32_t k = 0;
      for (; delta > ((kBase - kLeast) * kMost) / 2; k += kBase) delta /= kBase - kLeast;
      bias = k + static_cast<uint32_t>((kBase - kLeast + 1) * delta / (delta + kSkew));
      delta = 0;
      ++done;
    }
    ++delta;
    ++n;
  }
  return out;
}

bool is_ascii(std::u32string_view label) {
  return std::all_of(label.begin(), label.end(), [](char32_t c) { return c < 0x80; });
}

std::optional<std::string> ascii_label(std::u32string label) {
  if (!is_ascii(label)) {
    label = normalised(label);
    if (label.size() > kMaxLabel) return std::nullopt;  // Punycode has a letter for each character at least
    if (std::any_of(label.begin(), label.end(), [](char32_t c) { return is_in(kProhibited, c); }) ||
        (!label.empty() && reads_both_ways(label)))
      return std::nullopt;
  }
  std::string out;
  if (is_ascii(label)) {
    out.assign(label.begin(), label.end());
  } else {
    if (label.starts_with(U"xn--")) return std::nullopt;
    out = "xn--" + punycode(label);
  }
  if (out.empty() || out.size() > kMaxLabel) return std::nullopt;
  return out;
}

std::u32string decoded(std::string_view text) {
  std::u32string out;
  for (size_t at = 0; at < text.size();) {
    char32_t c = 0;
    const int length = utf8::decode(reinterpret_cast<const uint8_t*>(&text[at]), text.size() - at, c);
    if (length > 0) out += c;
    at += static_cast<size_t>(std::max(length, 1));
  }
  return out;
}

}  // namespace

std::optional<std::string> idna_host(std::string_view host) {
  const std::u32string all = decoded(host);
  std::u32string_view rest = all;
  std::string out;
  while (!rest.empty()) {
    const size_t dot = rest.find_first_of(U".\u3002\uff0e\uff61");
    const std::optional<std::string> label = ascii_label(std::u32string(rest.substr(0, dot)));
    if (!label) return std::nullopt;
    out += *label;
    if (dot == std::u32string::npos) break;
    out += '.';
    rest.remove_prefix(dot + 1);
  }
  return out;
}

}  // namespace doppel

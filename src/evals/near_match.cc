#include "evals/near_match.h"

#include <algorithm>
#include <bit>

namespace doppel {

void NearMatcher::Masks::make(std::span<const uint64_t> pattern, bool reversed) {
  blocks = (pattern.size() + 63) / 64;
  const size_t places = std::bit_ceil(2 * pattern.size() + 1);
  words.assign(places, 0);
  bits.assign(places * blocks, 0);
  for (size_t i = 0; i < pattern.size(); ++i) {
    const uint64_t word = pattern[reversed ? pattern.size() - 1 - i : i] | 1;
    size_t at = (word >> 8) & (places - 1);
    while (words[at] != 0 && words[at] != word) at = (at + 1) & (places - 1);
    words[at] = word;
    bits[at * blocks + i / 64] |= uint64_t{1} << i % 64;
  }
}

const uint64_t* NearMatcher::Masks::of(uint64_t word) const {
  word |= 1;
  size_t at = (word >> 8) & (words.size() - 1);
  while (words[at] != 0 && words[at] != word) at = (at + 1) & (words.size() - 1);
  return words[at] == 0 ? nullptr : &bits[at * blocks];
}

void NearMatcher::set(std::span<const uint64_t> pattern) {
  pattern_ = pattern;
  forward_.make(pattern, false);
  backward_made_ = false;
  none_.assign(forward_.blocks, 0);
}

void NearMatcher::start() {
  more_.assign(forward_.blocks, ~uint64_t{0});
  less_.assign(forward_.blocks, 0);
}

int NearMatcher::step(const uint64_t* bits) {
  const size_t blocks = forward_.blocks;
  int in = 0;
  for (size_t b = 0; b < blocks; ++b) {
    const uint64_t more = more_[b], less = less_[b];
    const uint64_t here = bits[b];
    const uint64_t equal = in < 0 ? here | 1 : here;
    const uint64_t down = here | less;
    const uint64_t across = (((equal & more) + more) ^ more) | equal;
    uint64_t up = less | ~(across | more);
    uint64_t off = more & across;
    const size_t last = b + 1 < blocks ? 63 : (pattern_.size() - 1) % 64;
    const int out = static_cast<int>(up >> last & 1) - static_cast<int>(off >> last & 1);
    up = up << 1 | static_cast<uint64_t>(in > 0);
    off = off << 1 | static_cast<uint64_t>(in < 0);
    more_[b] = off | ~(down | up);
    less_[b] = up & down;
    in = out;
  }
  return in;
}

std::optional<NearMatch> NearMatcher::find(std::span<const uint64_t> text, uint32_t most) {
  auto distance = static_cast<int64_t>(pattern_.size());
  int64_t best = int64_t{most} + 1;
  size_t end = 0;
  start();
  for (size_t i = 0; i < text.size() && best > 0; ++i) {
    const uint64_t* bits = forward_.of(text[i]);
    distance += step(bits == nullptr ? none_.data() : bits);
    if (distance < best) {
      best = distance;
      end = i + 1;
    }
  }
  if (best > most) return std::nullopt;
  // Finds the beginning: matches the reversed pattern backwards from the end, until the distance falls to
  // `best`.
  if (!backward_made_) backward_.make(pattern_, true);
  backward_made_ = true;
  distance = static_cast<int64_t>(pattern_.size());
  size_t begin = end;
  start();
  while (begin > 0 && distance > best) {
    --begin;
    const uint64_t* bits = backward_.of(text[begin]);
    distance += step(bits == nullptr ? none_.data() : bits);
  }
  return NearMatch{.begin = static_cast<uint32_t>(begin),
                   .end = static_cast<uint32_t>(end),
                   .edits = static_cast<uint32_t>(best)};
}

}  // namespace doppel

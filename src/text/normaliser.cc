#include "text/normaliser.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "base/bytes.h"
#include "base/utf8.h"
#include "text/unicode.h"

namespace doppel {

using namespace unicode;

namespace {

// One code point adds at most 64 bytes and as many spaces; kernels write up to kKernelSlack bytes more.
constexpr size_t kBufferSize =
    Normaliser::kFront + Normaliser::kMaxSettled + 4 * Normaliser::kMaxRun + 4 * kKernelSlack;
static_assert(4 * Normaliser::kMaxRun < Normaliser::kBlock, "a held-back run must leave room to go on");

// Actions for the plain values. They are data, because branches on the kind of a character are hard to
// predict.
struct Action {
  uint8_t space;        // always add a space first
  uint8_t ends_single;  // add a space first if a single-character token is open
  uint8_t copy;         // mask for the number of bytes to copy
  uint8_t opens_single;
  uint8_t keeps_single;
};
constexpr Action kActions[] = {
    {1, 0, 0x0, 0, 0},  // kSeparator
    {0, 0, 0x0, 0, 1},  // not used: ignored code points must also leave the run of marks open
    {0, 1, 0xf, 0, 0},  // kLetter
    {1, 0, 0xf, 1, 0},  // kSingle
    {0, 0, 0xf, 0, 1},  // kMark
};

constexpr uint64_t kEachByte = 0x0101010101010101;
constexpr uint64_t kHighBits = 0x80 * kEachByte;

// Lowers eight ASCII characters at once; bytes >= 0x80 stay as they are.
uint64_t lower(uint64_t x) {
  const uint64_t low = x & ~kHighBits;
  const uint64_t from_a = low + (0x80 - 'A') * kEachByte;
  const uint64_t above_z = low + (0x80 - 'Z' - 1) * kEachByte;
  return x | ((from_a ^ above_z) & kHighBits & ~x) >> 2;
}

}  // namespace

// The next code point is not a reorderable mark, so the run of marks before it is complete.
__attribute__((always_inline)) inline void Normaliser::State::begin_starter() {
  if (run_unsettled) *this = with_settled_run(*this);
  run_size = 0;
}

// Adds a code point that maps to itself and is not a reorderable mark. Reads and writes 4 bytes, whatever
// `size` is.
__attribute__((always_inline)) inline void Normaliser::State::add_plain(uint16_t value, const uint8_t* bytes,
                                                                        size_t size) {
  begin_starter();
  const Action& action = kActions[value];
  *out = ' ';
  out += action.space | (action.ends_single & static_cast<uint8_t>(after_single));
  std::memcpy(out, bytes, 4);
  out += size & action.copy;
  after_single = (action.opens_single | (action.keeps_single & static_cast<uint8_t>(after_single))) != 0;
}

// Adds letters followed by marks in order: the shape of nearly all mappings.
__attribute__((always_inline)) inline void Normaliser::State::add_short_mapping(uint16_t value) {
  const uint8_t* entry = kPool + 4 * static_cast<size_t>(value - kMapped);
  const auto mapping = load<Mapping>(entry);
  if ((mapping.shape & Mapping::kIsMixed) != 0) {
    *this = with_mixed_mapping(*this, value);
    return;
  }
  begin_starter();
  const bool single = (mapping.shape & Mapping::kIsSingle) != 0;
  *out = ' ';
  out += static_cast<int>(single | after_single);
  after_single = single;
  std::memcpy(out, entry + sizeof mapping, kFastMappingSize);
  run = out + mapping.tail;
  run_size = mapping.shape & Mapping::kTailCount;
  run_class = mapping.tail_class;
  out += mapping.size;
}

// Unicode, chapter 3.12: a syllable is a leading consonant, a vowel and optionally a trailing consonant. All
// of them are in U+1100 to U+11FF: three bytes that start with 0xe1.
__attribute__((always_inline)) inline void Normaliser::State::add_hangul(char32_t c) {
  begin_starter();
  *out = ' ';
  out += static_cast<int>(after_single);
  after_single = false;
  const uint32_t index = static_cast<uint32_t>(c) - 0xac00;
  const uint32_t jamo[3] = {index / (21 * 28), 0x61 + index / 28 % 21, 0xa7 + index % 28};
  for (int i = 0; i < 3; ++i) store(out + 3 * i, 0x8084e1 + (jamo[i] >> 6 << 8) + ((jamo[i] & 0x3f) << 16));
  out += index % 28 != 0 ? 9 : 6;
}

__attribute__((always_inline)) inline void Normaliser::State::add_mark(uint16_t value, char32_t c,
                                                                       const uint8_t* bytes, size_t size) {
  const auto combining_class = static_cast<uint8_t>(value - kClassed);
  if (run_size == 0) {
    run = out;
    run_class = 0;
  }
  run_unsettled |= combining_class < run_class || c == kYpogegrammeni;
  run_class = combining_class;
  std::memcpy(out, bytes, 4);
  out += size;
  if (++run_size == kMaxRun) begin_starter();
}

// Adds one decoded code point with its value. Reads 4 bytes at `bytes`.
__attribute__((always_inline)) inline void Normaliser::State::add(uint16_t value, char32_t c,
                                                                  const uint8_t* bytes, size_t size) {
  if (value == kIgnored) return;
  if (value < kHangul) return add_plain(value, bytes, size);
  if (value >= kMapped) return add_short_mapping(value);
  if (value == kHangul) return add_hangul(c);
  add_mark(value, c, bytes, size);
}

__attribute__((noinline)) Normaliser::State Normaliser::with_mixed_mapping(State state, uint16_t value) {
  const uint8_t* entry = kPool + 4 * static_cast<size_t>(value - kMapped);
  const auto mapping = load<Mapping>(entry);
  const uint8_t* bytes = entry + sizeof mapping;
  for (size_t at = 0; at < mapping.size;) {
    char32_t c = 0;
    const auto size = static_cast<size_t>(utf8::decode(bytes + at, mapping.size - at, c));
    state.add(value_of(c), c, bytes + at, size);
    at += size;
  }
  return state;
}

// Settles a complete run of marks that is out of order or contains U+0345. Brings it into canonical order and
// folds each U+0345, which has the highest class, to the letter iota at the end.
__attribute__((noinline)) Normaliser::State Normaliser::with_settled_run(State state) {
  // Combining class, index in the run, code point: a plain sort keeps the order within a class.
  std::array<uint64_t, kMaxRun> marks;
  const uint8_t* p = state.run;
  for (int i = 0; i < state.run_size; ++i) {
    char32_t c = 0;
    p += utf8::decode(p, static_cast<size_t>(state.out - p), c);
    marks[static_cast<size_t>(i)] = uint64_t{combining_class(c)} << 48 | static_cast<uint64_t>(i) << 32 | c;
  }
  std::sort(marks.begin(), marks.begin() + state.run_size);
  state.out = state.run;
  for (int i = 0; i < state.run_size; ++i) {
    auto c = static_cast<char32_t>(marks[static_cast<size_t>(i)]);
    if (c == kYpogegrammeni) {
      if (state.after_single) *state.out++ = ' ';
      state.after_single = false;
      c = U'ι';
    }
    state.out += utf8::encode(c, state.out);
  }
  state.run_size = 0;
  state.run_unsettled = false;
  return state;
}

Normaliser::Normaliser(const TextKernels& kernels) : kernels_(&kernels), buffer_(new uint8_t[kBufferSize]()) {
  state_.out = text();
}

void Normaliser::drop_settled() {
  if (state_.run_size == 0) {
    state_.out = text();
    return;
  }
  const auto open = static_cast<size_t>(state_.out - state_.run);
  std::memmove(text(), state_.run, open);
  state_.run = text();
  state_.out = text() + open;
}

const uint8_t* Normaliser::fill(const uint8_t* p, const uint8_t* end) {
  if (partial_size_ != 0 && p != end) p = fill_from_partial(p, end);
  const uint8_t* const limit = text() + kBlock;
  State s = state_;
  while (p != end && s.out < limit) {
    const auto left = static_cast<size_t>(end - p);
    if (*p < 0x80) {
      s.begin_starter();
      *s.out = ' ';
      s.out += static_cast<int>(s.after_single);
      s.after_single = false;
      // For short runs, such as those between words of another script, a call is too expensive.
      if (left >= 8) {
        const auto x = load<uint64_t>(p);
        store(s.out, lower(x));
        const uint64_t high = x & kHighBits;
        if (high != 0) {
          const int n = __builtin_ctzll(high) / 8;
          p += n;
          s.out += n;
          continue;
        }
      }
      const size_t n = kernels_->copy_ascii(p, std::min(left, static_cast<size_t>(limit - s.out) + 1), s.out);
      p += n;
      s.out += n;
      continue;
    }
    char32_t c = 0;
    const int size = utf8::decode(p, left, c);
    if (size > 0) {
      if (left >= 4) {
        const uint16_t value = value_of(c);
        if (size == 2 && value == kLetter && kernels_->copy_letters != nullptr) {
          s.add_plain(kLetter, p, 2);
          p += 2;
          const size_t room = s.out < limit ? static_cast<size_t>(limit - s.out) : 0;
          const size_t n = kernels_->copy_letters(p, std::min(left - 2, room), s.out);
          p += n;
          s.out += n;
          continue;
        }
        s.add(value, c, p, static_cast<size_t>(size));
        if (value == kSingle && p[0] >= 0xe3 && left >= 70 && p[3] >= 0xe3 &&
            kernels_->copy_singles != nullptr) {
          const size_t room = s.out < limit ? static_cast<size_t>(limit - s.out) : 0;
          const size_t n = kernels_->copy_singles(p + size, left - static_cast<size_t>(size), s.out, room);
          p += 3 * n;
          s.out += 4 * n;
        }
      } else {
        uint8_t bytes[4] = {};
        std::memcpy(bytes, p, static_cast<size_t>(size));
        s.add(value_of(c), c, bytes, static_cast<size_t>(size));
      }
      p += size;
    } else if (size == utf8::kInvalid) {
      s.add_plain(kSeparator, kPool, 0);
      ++p;
    } else {
      partial_size_ = left;
      std::memcpy(partial_, p, left);
      p = end;
    }
  }
  state_ = s;
  return p;
}

// The last piece ended inside a sequence: continues there until p is at a boundary of `bytes` and input.
const uint8_t* Normaliser::fill_from_partial(const uint8_t* p, const uint8_t* end) {
  uint8_t bytes[12] = {};  // at most 3 from before, 4 from the input, and slack for reading
  const size_t from_input = std::min<size_t>(4, static_cast<size_t>(end - p));
  std::memcpy(bytes, partial_, partial_size_);
  std::memcpy(bytes + partial_size_, p, from_input);
  const size_t total = partial_size_ + from_input;
  size_t at = 0;
  while (at < partial_size_) {
    char32_t c = 0;
    const int size = utf8::decode(bytes + at, total - at, c);
    if (size == utf8::kNeedsMore) {
      partial_size_ = total - at;
      std::memcpy(partial_, bytes + at, partial_size_);
      return end;
    }
    if (size == utf8::kInvalid) {
      state_.add_plain(kSeparator, kPool, 0);
      ++at;
    } else {
      state_.add(value_of(c), c, bytes + at, static_cast<size_t>(size));
      at += static_cast<size_t>(size);
    }
  }
  p += at - partial_size_;
  partial_size_ = 0;
  return p;
}

void Normaliser::finish() {
  if (partial_size_ != 0) state_.add_plain(kSeparator, kPool, 0);
  partial_size_ = 0;
  state_.begin_starter();
  state_.after_single = false;
}

}  // namespace doppel

namespace doppel::unicode {

#include "text/unicode_tables.inc"

}  // namespace doppel::unicode

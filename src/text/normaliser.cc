#include "text/normaliser.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "text/unicode.h"
#include "text/utf8.h"

namespace doppel {

using namespace unicode;

namespace {

// One code point adds at most 64 bytes and as many spaces; kernels write kKernelSlack bytes too much.
constexpr size_t kBufferSize =
    Normaliser::kFront + Normaliser::kMaxSettled + 4 * Normaliser::kMaxRun + 4 * kKernelSlack;
static_assert(4 * Normaliser::kMaxRun < Normaliser::kBlock, "a held-back run must leave room to go on");

uint8_t lower(uint8_t c) { return static_cast<uint8_t>(c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c); }

}  // namespace

Normaliser::Normaliser(const TextKernels& kernels)
    : kernels_(&kernels), buffer_(new uint8_t[kBufferSize]()), out_(text()), run_(out_) {}

void Normaliser::drop_settled() {
  if (run_size_ == 0) {
    out_ = text();
    return;
  }
  size_t open = static_cast<size_t>(out_ - run_);
  std::memmove(text(), run_, open);
  run_ = text();
  out_ = run_ + open;
}

const uint8_t* Normaliser::fill(const uint8_t* p, const uint8_t* end) {
  if (partial_size_ != 0 && p != end) p = fill_from_partial(p, end);
  const uint8_t* limit = text() + kBlock;
  while (p != end && out_ < limit) {
    if (*p < 0x80) {
      begin_starter();
      end_single();
      if (end - p > 1 && p[1] >= 0x80) {  // one space between words of another script, most of the time
        *out_++ = lower(*p++);
        continue;
      }
      size_t n = kernels_->copy_ascii(p, static_cast<size_t>(std::min(end - p, limit - out_)), out_);
      p += n;
      out_ += n;
      continue;
    }
    char32_t c = 0;
    int size = utf8::decode(p, static_cast<size_t>(end - p), c);
    if (size > 0) {
      add_code_point(c, p, size);
      p += size;
    } else if (size == utf8::kInvalid) {
      add_separator();
      ++p;
    } else {
      partial_size_ = static_cast<size_t>(end - p);
      std::memcpy(partial_, p, partial_size_);
      return end;
    }
  }
  return p;
}

// A sequence was cut off by the end of the last piece: goes on with it until p is at a boundary again.
const uint8_t* Normaliser::fill_from_partial(const uint8_t* p, const uint8_t* end) {
  uint8_t bytes[8];
  const size_t from_input = std::min<size_t>(4, static_cast<size_t>(end - p));
  std::memcpy(bytes, partial_, partial_size_);
  std::memcpy(bytes + partial_size_, p, from_input);
  const size_t total = partial_size_ + from_input;
  size_t at = 0;
  while (at < partial_size_) {
    char32_t c = 0;
    int size = utf8::decode(bytes + at, total - at, c);
    if (size == utf8::kNeedsMore) {
      partial_size_ = total - at;
      std::memmove(partial_, bytes + at, partial_size_);
      return end;
    }
    if (size == utf8::kInvalid) {
      add_separator();
      ++at;
    } else {
      add_code_point(c, bytes + at, size);
      at += static_cast<size_t>(size);
    }
  }
  p += at - partial_size_;
  partial_size_ = 0;
  return p;
}

void Normaliser::finish() {
  if (partial_size_ != 0) add_separator();
  partial_size_ = 0;
  begin_starter();
  after_single_ = false;
}

void Normaliser::add_code_point(char32_t c, const uint8_t* bytes, int size) {
  const uint16_t value = value_of(c);
  if (value >= kMapped) {
    add_mapped(value);
  } else if (value == kHangul) {
    add_hangul(c);
  } else {
    add_self(value, c, bytes, size);
  }
}

void Normaliser::add_self(uint16_t value, char32_t c, const uint8_t* bytes, int size) {
  if (value >= kClassed) return add_mark(static_cast<uint8_t>(value - kClassed), c, bytes, size);
  if (value == kIgnored) return;
  if (value == kSeparator) return add_separator();
  begin_starter();
  if (value == kSingle) {
    *out_++ = ' ';
    after_single_ = true;
  } else if (value == kLetter) {
    end_single();
  }
  std::memcpy(out_, bytes, static_cast<size_t>(size));
  out_ += size;
}

void Normaliser::add_mapped(uint16_t value) {
  Mapping mapping;
  const uint8_t* entry = kPool + 4 * static_cast<size_t>(value - kMapped);
  std::memcpy(&mapping, entry, sizeof mapping);
  const uint8_t* bytes = entry + sizeof mapping;
  if ((mapping.shape & Mapping::kIsMixed) != 0) {
    for (size_t at = 0; at < mapping.size;) {
      char32_t c = 0;
      int size = utf8::decode(bytes + at, mapping.size - at, c);
      add_self(value_of(c), c, bytes + at, size);
      at += static_cast<size_t>(size);
    }
    return;
  }
  begin_starter();
  if ((mapping.shape & Mapping::kIsSingle) != 0) {
    *out_++ = ' ';
    after_single_ = true;
  } else {
    end_single();
  }
  std::memcpy(out_, bytes, kFastMappingSize);
  run_ = out_ + mapping.tail;
  run_size_ = mapping.shape & Mapping::kTailCount;
  run_class_ = mapping.tail_class;
  out_ += mapping.size;
}

// Unicode, chapter 3.12: a syllable is a leading consonant, a vowel and perhaps a trailing consonant.
void Normaliser::add_hangul(char32_t c) {
  begin_starter();
  end_single();
  const uint32_t index = static_cast<uint32_t>(c) - 0xac00;
  out_ += utf8::encode(0x1100 + index / (21 * 28), out_);
  out_ += utf8::encode(0x1161 + index / 28 % 21, out_);
  if (index % 28 != 0) out_ += utf8::encode(0x11a7 + index % 28, out_);
}

void Normaliser::add_mark(uint8_t combining_class, char32_t c, const uint8_t* bytes, int size) {
  if (run_size_ == 0) {
    run_ = out_;
  } else if (combining_class < run_class_) {
    run_unsettled_ = true;
  }
  if (c == kYpogegrammeni) run_unsettled_ = true;
  run_class_ = combining_class;
  std::memcpy(out_, bytes, static_cast<size_t>(size));
  out_ += size;
  if (++run_size_ == kMaxRun) settle_run();
}

void Normaliser::add_separator() {
  begin_starter();
  after_single_ = false;
  *out_++ = ' ';
}

// The run of marks is complete: brings it into canonical order and folds each U+0345, whose class is
// the highest there is, to a letter iota at the end.
void Normaliser::settle_run() {
  const int size = run_size_;
  run_size_ = 0;
  if (!run_unsettled_) return;
  run_unsettled_ = false;
  struct Mark {
    uint8_t combining_class;
    char32_t c;
  };
  std::array<Mark, kMaxRun> marks;
  const uint8_t* p = run_;
  for (int i = 0; i < size; ++i) {
    char32_t c = 0;
    p += utf8::decode(p, static_cast<size_t>(out_ - p), c);
    marks[static_cast<size_t>(i)] = {combining_class(c), c};
  }
  std::stable_sort(marks.begin(), marks.begin() + size,
                   [](const Mark& x, const Mark& y) { return x.combining_class < y.combining_class; });
  out_ = run_;
  for (int i = 0; i < size; ++i) {
    char32_t c = marks[static_cast<size_t>(i)].c;
    if (c == kYpogegrammeni) {
      end_single();
      c = U'ι';
    }
    out_ += utf8::encode(c, out_);
  }
}

}  // namespace doppel

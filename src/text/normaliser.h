#pragma once
// UTF-8 in pieces to normalised text in blocks (normaliser version 1, docs/adr/0002-normaliser.md).
//
// What comes out is UTF-8 made for one cheap test: the bytes [a-z0-9_] and those >= 0x80 belong to
// words, every other byte separates. Tokens of one character are between spaces.
//
//   while (p != end) { p = n.fill(p, end); use n.settled(); n.drop_settled(); }
//   n.finish(); use n.settled(); n.drop_settled();
//
// The settled text does not depend on how the input was cut. Memory is constant.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "text/kernels.h"

namespace doppel {

class Normaliser {
 public:
  // A run of reorderable marks longer than this is put in order in parts of this many.
  static constexpr int kMaxRun = 1024;
  // fill() stops when it has made this much.
  static constexpr size_t kBlock = 8192;
  // The caller may write this much in front of the settled text (the beginning of an open word).
  static constexpr size_t kFront = 64;
  // The most that settled() can hold: a block and what one code point can add to it.
  static constexpr size_t kMaxSettled = kBlock + 512;

  explicit Normaliser(const TextKernels& kernels);

  // Reads from [p, end) until that is used up or a block is full; returns where it stopped.
  const uint8_t* fill(const uint8_t* p, const uint8_t* end);

  // The document ends: settles everything that was held back, and makes ready for the next document.
  void finish();

  // Text that can no longer change, valid until the next fill() or finish(). Behind it kKernelSlack
  // bytes may be read.
  std::span<uint8_t> settled() {
    return {text(), static_cast<size_t>((state_.run_size != 0 ? state_.run : state_.out) - text())};
  }
  void drop_settled();

 private:
  // The end of the output. fill() works on a copy of its own, which the compiler can keep in
  // registers as long as nobody takes its address: stores of bytes may change anything that has one.
  // So what is inlined are methods, and the rare cases are functions from a State to the next one.
  struct State {
    uint8_t* out = nullptr;      // the end of what was written
    uint8_t* run = nullptr;      // the beginning of the open run of reorderable marks, if run_size != 0
    int run_size = 0;            // marks in it
    uint8_t run_class = 0;       // the class of the last of them
    bool run_unsettled = false;  // the run is out of order, or holds an U+0345
    bool after_single = false;   // a token of one character is open for marks

    void begin_starter();
    void add_plain(uint16_t value, const uint8_t* bytes, size_t size);
    void add_short_mapping(uint16_t value);
    void add_hangul(char32_t c);
    void add_mark(uint16_t value, char32_t c, const uint8_t* bytes, size_t size);
    void add(uint16_t value, char32_t c, const uint8_t* bytes, size_t size);
  };
  static State with_mixed_mapping(State state, uint16_t value);
  static State with_settled_run(State state);

  uint8_t* text() { return buffer_.get() + kFront; }
  const uint8_t* fill_from_partial(const uint8_t* p, const uint8_t* end);

  const TextKernels* kernels_;
  std::unique_ptr<uint8_t[]> buffer_;
  State state_;
  uint8_t partial_[4];  // a sequence cut off by the end of a piece
  size_t partial_size_ = 0;
};

}  // namespace doppel

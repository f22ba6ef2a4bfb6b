#pragma once
// Turns UTF-8 in pieces into normalised text in blocks (normaliser version 1, docs/adr/0002-normaliser.md).
//
// The output is UTF-8 that allows one cheap test: the bytes [a-z0-9_] and bytes >= 0x80 belong to words,
// every other byte separates. Single-character tokens have spaces around them.
//
//   while (p != end) { p = n.fill(p, end); use n.settled(); n.drop_settled(); }
//   n.finish(); use n.settled(); n.drop_settled();
//
// The settled text does not depend on where the pieces were cut. Memory use is constant.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "text/kernels.h"

namespace doppel {

class Normaliser {
 public:
  // A longer run of reorderable marks is sorted in parts of this length.
  static constexpr int kMaxRun = 1024;
  // fill() stops after this much output.
  static constexpr size_t kBlock = 8192;
  // The caller may write this much in front of the settled text (the start of an open word).
  static constexpr size_t kFront = 64;
  // The most that settled() can hold: a block, and what one code point can add to it.
  static constexpr size_t kMaxSettled = kBlock + 512;

  explicit Normaliser(const TextKernels& kernels);

  // Reads [p, end) until the input ends or a block is full. Returns where it stopped.
  const uint8_t* fill(const uint8_t* p, const uint8_t* end);

  // Ends the document: settles everything that was held back, and resets for the next document.
  void finish();

  // The text that can no longer change, valid until the next fill() or finish(). kKernelSlack bytes after it
  // are readable.
  std::span<uint8_t> settled() {
    return {text(), static_cast<size_t>((state_.run_size != 0 ? state_.run : state_.out) - text())};
  }
  void drop_settled();

 private:
  // The state of the output. fill() works on a copy whose address nobody takes, so that the compiler can keep
  // it in registers: stores of bytes may change any object whose address is known. So the inlined steps are
  // methods, and the rare cases are functions from a State to the next one.
  struct State {
    uint8_t* out = nullptr;      // end of the output
    uint8_t* run = nullptr;      // start of the open run of reorderable marks, if run_size != 0
    int run_size = 0;            // number of marks in the run
    uint8_t run_class = 0;       // combining class of its last mark
    bool run_unsettled = false;  // the run is out of order or contains U+0345
    bool after_single = false;   // a single-character token is open and may get marks

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
  uint8_t partial_[4];  // the start of a sequence that the end of a piece cut off
  size_t partial_size_ = 0;
};

}  // namespace doppel

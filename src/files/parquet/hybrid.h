#pragma once
// Parquet's RLE/bit-packing hybrid: small numbers either as a value with a repeat count, or bit-packed in
// groups of eight. Levels, dictionary indexes and booleans use this encoding.

#include <bit>
#include <cstdint>
#include <string_view>

namespace doppel::parquet {

// The bits of levels from 0 to `most`.
inline unsigned bits_of_levels(uint32_t most) { return static_cast<unsigned>(std::bit_width(most)); }

class HybridReader {
 public:
  HybridReader() = default;
  // `bits` per value, at most 32.
  HybridReader(std::string_view bytes, unsigned bits) : bytes_(bytes), bits_(bits) {}

  // Returns false if the data ends or is damaged.
  bool next(uint32_t& value) {
    if (left_ == 0 && !begin_run()) return false;
    --left_;
    value = repeated_ ? value_ : unpack();
    return true;
  }

 private:
  bool begin_run();
  uint32_t unpack();

  std::string_view bytes_;
  unsigned bits_ = 0;
  uint64_t left_ = 0;  // values left in the current run
  bool repeated_ = false;
  uint32_t value_ = 0;         // the repeated value
  const char* run_ = nullptr;  // the bit-packed run
  uint64_t bit_ = 0;           // position of the next value in it
};

}  // namespace doppel::parquet

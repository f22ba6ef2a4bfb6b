#pragma once
// Small numbers in runs: a value and how often it comes, or eight values at a time in few bits each. So are
// levels, the places in a dictionary, and truths.

#include <bit>
#include <cstdint>
#include <string_view>

namespace doppel::parquet {

// How many bits levels up to `most` take.
inline unsigned bits_of_levels(uint32_t most) { return static_cast<unsigned>(std::bit_width(most)); }

class HybridReader {
 public:
  HybridReader() = default;
  // At most 32 bits for a value.
  HybridReader(std::string_view bytes, unsigned bits) : bytes_(bytes), bits_(bits) {}

  // False: the data ends, or is damaged.
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
  uint64_t left_ = 0;  // values of this run
  bool repeated_ = false;
  uint32_t value_ = 0;         // that is repeated
  const char* run_ = nullptr;  // of packed bits
  uint64_t bit_ = 0;           // of the next value in there
};

}  // namespace doppel::parquet

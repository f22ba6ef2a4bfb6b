#pragma once
// DELTA_BINARY_PACKED: integers as differences, in blocks, each with as many bits as its largest difference
// needs.

#include <cstdint>
#include <string_view>
#include <vector>

namespace doppel::parquet {

class DeltaReader {
 public:
  DeltaReader() = default;
  // Reads the header. Returns false if there is none.
  bool begin(std::string_view bytes);
  // Returns false if there are no more values, or they are damaged.
  bool next(int64_t& value);
  // Sets `behind` to the bytes after the values, without decoding them: this takes time per block, not per
  // value. Call it after begin(). Returns false if they are damaged.
  bool find_end(std::string_view& behind) const;
  uint64_t values() const { return values_; }

 private:
  bool begin_block();
  bool begin_miniblock();

  std::string_view rest_;
  uint64_t values_ = 0;      // total, as the header says
  uint64_t left_ = 0;        // values not read yet
  uint64_t miniblocks_ = 0;  // in a block
  uint64_t per_miniblock_ = 0;
  uint64_t value_ = 0;  // the next value; all but the first still lack their difference
  bool first_ = true;
  uint64_t least_ = 0;       // smallest difference in the current block
  std::string_view widths_;  // of the block's miniblocks that were not begun
  std::string_view miniblock_;
  unsigned bits_ = 0;
  uint64_t bit_ = 0;
  uint64_t in_miniblock_ = 0;  // values left in the miniblock
};

}  // namespace doppel::parquet

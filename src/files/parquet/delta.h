#pragma once
// DELTA_BINARY_PACKED: whole numbers as differences in blocks, in as many bits as the largest of a block
// needs.

#include <cstdint>
#include <string_view>
#include <vector>

namespace doppel::parquet {

class DeltaReader {
 public:
  DeltaReader() = default;
  // Reads the head. False: there is none.
  bool begin(std::string_view bytes);
  // False: there are no more values, or they are damaged.
  bool next(int64_t& value);
  // What follows the values of `bytes`, of which a head was read, without reading them: the work is that of
  // the blocks, not of the values. False: they are damaged.
  bool find_end(std::string_view& behind) const;
  uint64_t values() const { return values_; }

 private:
  bool begin_block();
  bool begin_miniblock();

  std::string_view rest_;
  uint64_t values_ = 0;      // in all, as the head says
  uint64_t left_ = 0;        // of them
  uint64_t miniblocks_ = 0;  // in a block
  uint64_t per_miniblock_ = 0;
  uint64_t value_ = 0;  // the next one, but for the first its difference is to be added
  bool first_ = true;
  uint64_t least_ = 0;       // difference of this block
  std::string_view widths_;  // of this block's miniblocks that were not begun
  std::string_view miniblock_;
  unsigned bits_ = 0;
  uint64_t bit_ = 0;
  uint64_t in_miniblock_ = 0;  // values that are left there
};

}  // namespace doppel::parquet

#pragma once
// Decodes the values of a page one after the other, in all encodings that doppel reads.

#include <bit>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "files/parquet/footer.h"

namespace doppel::parquet {

// Parquet's RLE/bit-packing hybrid: small numbers either as a value with a repeat count, or bit-packed in
// groups of eight. Levels, dictionary indexes and booleans use this encoding.

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

// DELTA_BINARY_PACKED: integers as differences, in blocks, each with as many bits as its largest difference
// needs.
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

using tables::Cell;

class PageValues {
 public:
  virtual ~PageValues() = default;
  // Reads the next value. The caller knows that there is one, so `there` is not set. Its bytes are valid
  // until the next call. An error says what is wrong with the page.
  virtual absl::Status next(Cell& out) = 0;
};

// The values of a dictionary page, by index.
class Dictionary {
 public:
  uint64_t size() const { return size_; }
  // place < size()
  void get(uint64_t place, Cell& out) const;
  void clear() { *this = {}; }

 private:
  friend absl::Status read_dictionary(const Column& column, std::string_view page, uint64_t values,
                                      Dictionary& out);
  std::string_view page_;
  Stored stored_ = Stored::bytes;
  uint32_t width_ = 0;            // if all values have the same size
  std::vector<uint32_t> begins_;  // otherwise: offsets of the values, each preceded by its length
  uint64_t size_ = 0;
};

// Makes a decoder for the data of a page. `page` and `dictionary` must outlive it. It is an error if doppel
// does not read this encoding, or not for this column, or the data begins wrong.
absl::StatusOr<std::unique_ptr<PageValues>> make_page_values(Encoding encoding, const Column& column,
                                                             std::string_view page,
                                                             const Dictionary& dictionary);

// Reads a dictionary page. `page` must outlive `out`, which points into it.
absl::Status read_dictionary(const Column& column, std::string_view page, uint64_t values, Dictionary& out);

}  // namespace doppel::parquet

#pragma once
// The header of a page. Pages are the parts of a column chunk.

#include <cstdint>
#include <optional>
#include <string_view>

namespace doppel::parquet {

enum class Encoding : uint8_t {
  plain = 0,
  plain_dictionary = 2,  // old name, used for dictionary pages and for indexes into them
  rle = 3,
  bit_packed = 4,
  delta_binary_packed = 5,
  delta_length_byte_array = 6,
  delta_byte_array = 7,
  rle_dictionary = 8,
  byte_stream_split = 9
};

struct PageHead {
  enum class Kind : uint8_t { data, index, dictionary, data_v2 };

  Kind kind = Kind::data;
  int64_t packed = 0;    // size of the body as stored
  int64_t unpacked = 0;  // size of the unpacked body
  std::optional<uint32_t> crc;
  int64_t values = 0;  // including nulls
  Encoding encoding = Encoding::plain;
  Encoding levels = Encoding::rle;
  // Only in version 2, whose levels are stored unpacked.
  int64_t rows = 0;
  int64_t definitions = 0;
  int64_t repetitions = 0;
  bool is_packed = true;
};

// Sets `size` to the header's length. Returns nullopt if `bytes` does not begin with a complete header.
std::optional<PageHead> read_page_head(std::string_view bytes, size_t& size);

// Its name in the specification, for example "DELTA_BYTE_ARRAY".
std::string_view name_of(Encoding encoding);

}  // namespace doppel::parquet

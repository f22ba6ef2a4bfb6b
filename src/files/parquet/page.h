#pragma once
// The head of a page: what a column's bytes are cut into.

#include <cstdint>
#include <optional>
#include <string_view>

namespace doppel::parquet {

enum class Encoding : uint8_t {
  plain = 0,
  plain_dictionary = 2,  // the old name of both parts of a dictionary
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
  int64_t packed = 0;    // bytes that follow
  int64_t unpacked = 0;  // bytes that they unpack to
  std::optional<uint32_t> crc;
  int64_t values = 0;  // nulls count
  Encoding encoding = Encoding::plain;
  Encoding levels = Encoding::rle;
  // Of the second version, whose levels are not packed.
  int64_t definitions = 0;
  int64_t repetitions = 0;
  bool is_packed = true;
};

// Nothing: there is no whole head at the beginning of `bytes`. `size` becomes its own length.
std::optional<PageHead> read_page_head(std::string_view bytes, size_t& size);

// "DELTA_BYTE_ARRAY"
std::string_view name_of(Encoding encoding);

}  // namespace doppel::parquet

#pragma once
// The footer of a Parquet file: which columns it has, and where their values are.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "files/parquet/thrift.h"
#include "files/tables/codec.h"
#include "files/tables/rows.h"

namespace doppel::parquet {

// The columns of a Parquet file: what its schema says about each, and whether doppel can read it.

using tables::Column, tables::Kind, tables::Meaning, tables::Stored;

// The levels of a column: how many of its nodes, including itself, are optional or repeated, and how many
// are repeated.
struct Depth {
  uint32_t definition = 0, repetition = 0;
};

// A leaf column at any depth, as it is stored.
struct Leaf {
  Column column;                  // its name is the path with dots; its meaning is not set
  std::vector<std::string> path;  // names from the top
  Depth depth;
};

// Reads the schema's elements, which list a tree depth first. Check ok() of the reader, too. Returns false
// if they are not a tree. Lists and maps have several forms in files; all give the same columns here.
bool read_schema(ThriftReader& in, ThriftReader::Type type, std::vector<Column>& out);
// Reads the same elements as leaves, including nested ones. A leaf that cannot be read says why.
bool read_leaves(ThriftReader& in, ThriftReader::Type type, std::vector<Leaf>& out);

inline constexpr std::string_view kMagic = "PAR1";
inline constexpr std::string_view kEncryptedMagic = "PARE";

using tables::Codec;

// The values of one column in a row group: consecutive pages.
struct Chunk {
  uint64_t begin = 0;  // offsets in the file: of the first page, and behind the last one
  uint64_t end = 0;
  uint64_t values = 0;  // including nulls and empty lists
  Codec codec = Codec::none;
  std::string unreadable;  // why it cannot be read; empty: it can
};

struct RowGroup {
  uint64_t rows = 0;
  std::vector<Chunk> chunks;  // of the chosen columns, in their order
};

class Footer {
 public:
  // Reads the footer of a file of `file_size` bytes. The error says what is wrong with the file: also that
  // its number of rows is not that of its row groups.
  static absl::StatusOr<Footer> read(int fd, uint64_t file_size);

  uint64_t file_size() const { return file_size_; }
  const std::vector<Column>& columns() const { return columns_; }
  // All columns, including nested ones, as they are stored.
  const std::vector<Leaf>& leaves() const { return leaves_; }
  // The Thrift lists of the schema and of the writer's key-value metadata, as they are stored; empty: there
  // is none.
  std::string_view schema() const { return std::string_view(bytes_).substr(schema_.begin, schema_.size); }
  std::string_view notes() const { return std::string_view(bytes_).substr(notes_.begin, notes_.size); }
  // Reads the next row group with the chosen columns. Returns false if there are no more. A chunk that
  // cannot be read, or that contradicts the schema or the row group, says why; the offsets of all others are
  // inside the file.
  absl::StatusOr<bool> next_group(const std::vector<Column>& chosen, RowGroup& out);

 private:
  struct Range {
    size_t begin = 0, size = 0;  // in bytes_
  };
  std::string bytes_;
  Range schema_, notes_;
  uint64_t file_size_ = 0;
  std::vector<Column> columns_;
  std::vector<Leaf> leaves_;
  size_t at_ = 0;             // offset of the next row group in bytes_
  uint64_t groups_left_ = 0;  // row groups not read yet
};

// Reads n bytes at offset `at`. It is an error if the file ends before them or cannot be read.
absl::Status read_at(int fd, uint64_t at, char* out, size_t n);

// The header of a page. Pages are the parts of a column chunk.
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

#pragma once
// The end of a Parquet file: which columns it has, and where their values lie.

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "files/parquet/schema.h"
#include "files/tables/codec.h"

namespace doppel::parquet {

inline constexpr std::string_view kMagic = "PAR1";
inline constexpr std::string_view kEncryptedMagic = "PARE";

using tables::Codec;

// The values of one column in a row group: pages one after the other.
struct Chunk {
  uint64_t begin = 0;  // in the file, and behind the last page
  uint64_t end = 0;
  uint64_t values = 0;  // nulls and empty lists count
  Codec codec = Codec::none;
  std::string unreadable;  // why it cannot be read; empty: it can
};

struct RowGroup {
  uint64_t rows = 0;
  std::vector<Chunk> chunks;  // of the columns that were chosen, in their order
};

class Footer {
 public:
  // Of the file of that size. The error says what is wrong with the file.
  static absl::StatusOr<Footer> read(int fd, uint64_t file_size);

  uint64_t file_size() const { return file_size_; }
  const std::vector<Column>& columns() const { return columns_; }
  // All columns, the nested ones too.
  absl::StatusOr<std::vector<Leaf>> leaves() const;
  // What describes the columns, and what the writer has noted, as they are written; empty: nothing.
  std::string_view schema() const { return std::string_view(bytes_).substr(schema_.begin, schema_.size); }
  std::string_view notes() const { return std::string_view(bytes_).substr(notes_.begin, notes_.size); }
  // The next row group, with these columns, of which each is readable; false: there are no more. All places
  // lie in the file.
  absl::StatusOr<bool> next_group(const std::vector<Column>& chosen, RowGroup& out);

 private:
  struct Range {
    size_t begin = 0, size = 0;  // in bytes_
  };
  std::string bytes_;
  Range schema_, notes_;
  uint64_t file_size_ = 0;
  std::vector<Column> columns_;
  size_t at_ = 0;             // of the next row group in bytes_
  uint64_t groups_left_ = 0;  // from there on
};

// All n bytes at that place. The error: the file is shorter, or cannot be read.
absl::Status read_at(int fd, uint64_t at, char* out, size_t n);

}  // namespace doppel::parquet

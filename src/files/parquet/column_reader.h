#pragma once
// Reads one column of a row group value by value. Holds only the current page and the dictionary.

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "files/byte_stream.h"
#include "files/parquet/footer.h"
#include "files/parquet/values.h"
#include "files/tables/codec.h"

namespace doppel::parquet {

// The bytes of a column chunk, read ahead in blocks.
class ChunkBytes {
 public:
  ChunkBytes() = default;
  ChunkBytes(int fd, const Chunk& chunk, ByteCounter counter)
      : fd_(fd), at_(chunk.begin), end_(chunk.end), counter_(std::move(counter)) {}
  // How many bytes of the chunk are left.
  uint64_t left() const { return end_ - at_; }
  // The next n bytes, or all if fewer are left; valid until the next call.
  absl::StatusOr<std::string_view> peek(uint64_t n);
  // n <= left()
  void take(uint64_t n);

 private:
  int fd_ = -1;
  uint64_t at_ = 0, end_ = 0;
  std::string buffer_;
  size_t used_ = 0;  // bytes of the buffer that were taken; the next one is at offset at_ of the file
  ByteCounter counter_;
};

class ColumnReader {
 public:
  // fd and column must outlive the reader. A page that unpacks to more than page_bytes is an error.
  ColumnReader(const Column& column, int fd, uint64_t page_bytes, ByteCounter counter)
      : ColumnReader(column, {.definition = column.optional ? 1U : 0U}, fd, page_bytes, std::move(counter)) {}
  // The same for a nested column.
  ColumnReader(const Column& column, Depth depth, int fd, uint64_t page_bytes, ByteCounter counter)
      : column_(column), depth_(depth), fd_(fd), page_bytes_(page_bytes), counter_(std::move(counter)) {}

  // Moves to the first row of a row group; `chunk` is the column's chunk there. rows: the number of its
  // values, which is the number of rows unless the column has lists.
  void begin(const Chunk& chunk, uint64_t rows);
  // Reads the next value and its levels. A missing value has a smaller definition level than the column's
  // depth.
  absl::Status next(Depth& levels, Cell& out);
  // Reads the value of the next row; its bytes are valid until the next call. An error says what is wrong.
  absl::Status next(Cell& out);
  // Skips that many rows, without unpacking the pages before the next one.
  absl::Status skip(uint64_t rows);

 private:
  absl::StatusOr<uint64_t> next_page(uint64_t rows_to_skip);
  absl::StatusOr<PageHead> take_head();
  absl::Status take_data(const PageHead& head);
  absl::Status take_levels(const PageHead& head, std::string_view& out);
  absl::Status take_dictionary(const PageHead& head);
  absl::StatusOr<std::string_view> take_body(const PageHead& head);
  absl::StatusOr<std::string_view> unpacked(std::string_view packed, uint64_t size, bool is_packed,
                                            std::string& memory);

  const Column& column_;
  Depth depth_;
  int fd_;
  uint64_t page_bytes_;
  ByteCounter counter_;
  Codec codec_ = Codec::none;
  ChunkBytes bytes_;
  tables::Unpacker unpacker_;
  std::string page_, dictionary_page_;
  Dictionary dictionary_;
  bool has_dictionary_ = false;
  uint64_t rows_ = 0;     // values of the row group on pages that were not begun
  uint64_t in_page_ = 0;  // values of the current page that were not taken
  HybridReader definitions_, repetitions_;
  Encoding encoding_ = Encoding::plain;
  std::string_view data_;               // of the current page, behind its levels
  std::unique_ptr<PageValues> values_;  // created for the first value that is not null
};

// A column that is a structure, a list or a map, as JSON, row by row. It is assembled from its leaves:
// their levels tell which parts are null or empty, and where a list continues.

// Appends the leaf columns below a column, in the order of the file.
void add_leaves(const Column& column, std::vector<Column>& out);

class NestedReader {
 public:
  // `column` and `leaves`, the result of add_leaves() for it, must outlive the reader. JSON longer than
  // row_bytes is truncated.
  NestedReader(const Column& column, const Column* leaves, int fd, uint64_t page_bytes, uint64_t row_bytes,
               const ByteCounter& counter);

  // Moves behind the first `skip` rows of a row group. `chunks` belong to the leaves. Errors here and in
  // next() name the leaf.
  absl::Status begin(const Chunk* chunks, uint64_t rows, uint64_t skip);
  // The JSON of the next row; valid until the next call.
  absl::Status next(std::string_view& out);

 private:
  // A leaf, and its next value if that was read but not used.
  struct Leaf {
    Leaf(const Column& described, int fd, uint64_t page_bytes, const ByteCounter& counter)
        : column(described),
          reader(described, {described.definition, described.repetition}, fd, page_bytes, counter) {}
    const Column& column;
    ColumnReader reader;
    uint64_t left = 0;     // values not read yet
    bool at_hand = false;  // levels and cell are set
    Depth levels;
    Cell cell;
  };
  // A node of the column's tree.
  struct Node {
    const Column* column = nullptr;
    size_t first = 0, leaves = 0;  // range of the leaves below it
    std::vector<Node> children;
    std::vector<std::string> names;  // the JSON before the value of each child
  };
  static Node node_of(const Column& column, size_t& first);
  absl::Status look(Leaf& leaf);
  absl::Status pass(const Node& node);
  absl::Status append(const Node& node);
  absl::Status append_entries(const Node& node);
  void put(std::string_view json) {
    if (out_.size() <= row_bytes_) out_ += json;
  }

  uint64_t row_bytes_;
  std::vector<Leaf> leaves_;
  Node root_;
  std::string out_;
};

}  // namespace doppel::parquet

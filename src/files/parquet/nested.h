#pragma once
// A column that is a structure, a list or a map, as JSON, row by row. It is assembled from its leaves:
// their levels tell which parts are null or empty, and where a list continues.

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "files/parquet/column_reader.h"

namespace doppel::parquet {

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
    Leaf(const Column& of, int fd, uint64_t page_bytes, const ByteCounter& counter)
        : column(of), reader(of, {of.definition, of.repetition}, fd, page_bytes, counter) {}
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

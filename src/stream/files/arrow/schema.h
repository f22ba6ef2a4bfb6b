#pragma once
// The schema of an Arrow file: its columns, and where the values of each are in a batch of rows.

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "stream/files/arrow/flat_buffer.h"
#include "stream/files/tables/column.h"

namespace doppel::arrow {

// How the values of a column lie in its buffers, behind the bits that say which of them are there.
enum class Layout : uint8_t {
  nulls,    // no buffer at all
  bits,     // one for each value
  numbers,  // of `width` bytes
  fixed,    // `width` bytes each
  bytes32,  // offsets of 32 bits, and the bytes between them
  bytes64,  // the same with 64 bits
  views,    // 16 bytes each: short ones inside, others in one of several buffers
};

struct Field {
  tables::Column column;
  Layout layout = Layout::nulls;
  uint8_t width = 0;     // of numbers and fixed values
  bool has_sign = true;  // of whole numbers
  int64_t scale = 1;     // a value is multiplied by it (seconds)...
  int64_t divisor = 1;   // ...or divided (milliseconds that are days)
  // Values are in the dictionary with this number, and a batch has their places in it.
  std::optional<int64_t> dictionary;
  uint8_t index_width = 4;
  bool index_has_sign = true;

  // Of a batch: the first node and buffer of the column, without the buffers of views.
  size_t node = 0, buffer = 0;
  size_t views_before = 0;  // columns with views that come earlier, at any depth
};

// `schema` is the header of a message. Columns that are not read say why (Column::unreadable). The error:
// what no file may have.
absl::StatusOr<std::vector<Field>> read_schema(const FlatTable& schema);

}  // namespace doppel::arrow

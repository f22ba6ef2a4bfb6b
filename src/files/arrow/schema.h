#pragma once
// The schema of an Arrow file: its columns, and where the values of each are in a batch of rows.

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "files/arrow/flat_buffer.h"
#include "files/tables/column.h"

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
  // Of what has children:
  structure,    // none; the values of its fields have the same places
  list32,       // offsets of 32 bits into the values of its child; of a map into keys and values
  list64,       // the same with 64 bits
  list_view32,  // offsets, and lengths in another buffer
  list_view64,
  fixed_list,  // none; each has `width` values
};

// A column, or what a column is made of.
struct Field {
  tables::Column column;
  std::vector<Field> children;  // as those of the column; of a map its key and its value
  Layout layout = Layout::nulls;
  uint32_t width = 0;    // of numbers and fixed values and lists
  bool has_sign = true;  // of whole numbers
  int64_t scale = 1;     // a value is multiplied by it (seconds)...
  int64_t divisor = 1;   // ...or divided (milliseconds that are days)
  // Values are in the dictionary with this number, and a batch has their places in it.
  std::optional<int64_t> dictionary;
  uint8_t index_width = 4;
  bool index_has_sign = true;

  // Of a batch: the first node and buffer of the column, without the buffers of views.
  size_t node = 0, buffer = 0;
  size_t views_before = 0;   // columns with views that come earlier, at any depth
  size_t unions_before = 0;  // and unions
};

// MetadataVersion of a message and of a footer: from 0.8 on and from 1.0 on.
inline constexpr int16_t kVersion4 = 3, kVersion5 = 4;
// The error: messages of such a version are not read.
absl::Status check_version(int16_t version);

// `schema` is the header of a message. Columns that are not read say why
// (Column::unreadable). The error: what no file may have.
absl::StatusOr<std::vector<Field>> read_schema(const FlatTable& schema);

// The part of `all` that makes up `chosen`, which was made of the columns of `all`.
std::vector<Field> chosen_fields(const std::vector<Field>& all, const std::vector<tables::Column>& chosen);

}  // namespace doppel::arrow

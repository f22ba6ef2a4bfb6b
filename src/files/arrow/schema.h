#pragma once
// The schema of an Arrow file: its columns, and where each finds its values in a batch of rows.

#include <cstdint>
#include <optional>
#include <set>
#include <vector>

#include "absl/status/statusor.h"
#include "files/arrow/flat_buffer.h"
#include "files/tables/rows.h"

namespace doppel::arrow {

// The buffers of a column behind its validity bits.
enum class Layout : uint8_t {
  nulls,    // no buffer at all
  bits,     // one bit per value
  numbers,  // numbers of `width` bytes
  fixed,    // `width` bytes per value
  bytes32,  // 32-bit offsets, and the bytes between them
  bytes64,  // the same with 64-bit offsets
  views,    // 16 bytes per value: short values inline, others in one of several buffers
  // Columns with children:
  structure,    // no buffer; row i has value i of each child
  list32,       // 32-bit offsets into the child's values (of a map: into keys and values)
  list64,       // the same with 64-bit offsets
  list_view32,  // offsets, and lengths in another buffer
  list_view64,
  fixed_list,  // no buffer; `width` child values per row
};

// A column or one of its children.
struct Field {
  tables::Column column;
  std::vector<Field> children;  // parallel to column.children; of a map: its key and its value
  Layout layout = Layout::nulls;
  uint32_t width = 0;    // bytes of numbers and fixed values; entries of fixed lists
  bool has_sign = true;  // of integers
  int64_t scale = 1;     // each value is multiplied by it (seconds to milliseconds)
  int64_t divisor = 1;   // each value is divided by it (milliseconds to days)
  // Id of the dictionary that holds the values; batches then hold indexes into it.
  std::optional<int64_t> dictionary;
  uint8_t index_width = 4;
  bool index_has_sign = true;

  // The column's first node and buffer in a batch, without the buffers of views.
  size_t node = 0, buffer = 0;
  size_t views_before = 0;   // earlier columns with views, at any depth
  size_t unions_before = 0;  // earlier unions, at any depth

  bool operator==(const Field&) const = default;
};

struct Schema {
  std::vector<Field> fields;
  // What a batch has for all columns together; buffers without those of views.
  size_t nodes = 0, buffers = 0, views = 0, unions = 0;
  bool all_known = true;           // there is no type whose number of buffers is unknown
  std::set<int64_t> dictionaries;  // ids, at any depth

  bool operator==(const Schema&) const = default;
};

// MetadataVersion of messages and footers, written since Arrow 0.8 and 1.0.
inline constexpr int16_t kVersion4 = 3, kVersion5 = 4;
// It is an error if messages of this version cannot be read.
absl::Status check_version(int16_t version);

// `schema` is the header of a message. A column that cannot be read says why (Column::unreadable). It is an
// error if the schema is invalid.
absl::StatusOr<Schema> read_schema(const FlatTable& schema);

// Returns the fields of `all` that correspond to `chosen`, which was made from the columns of `all`.
std::vector<Field> chosen_fields(const std::vector<Field>& all, const std::vector<tables::Column>& chosen);

}  // namespace doppel::arrow

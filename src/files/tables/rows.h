#pragma once
// The rows of a table in a file, its columns and their values, and a row as JSON. parquet/ and arrow/
// implement it.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "formats/decoder.h"

namespace doppel::tables {

// How values are stored.
enum class Stored : uint8_t { boolean, int32, int64, int96, float32, float64, bytes, fixed };

// What a value means.
enum class Meaning : uint8_t {
  text,  // or bytes of unknown meaning
  integer,
  unsigned_integer,
  boolean,
  real,
  half,     // a floating-point number of two bytes
  decimal,  // `scale` of its digits are behind the decimal point
  date,     // days since 1970
  milliseconds,
  microseconds,
  nanoseconds,  // since 1970; int96: Julian day, and nanoseconds of the day
  time,         // since midnight, in units of 10^-scale seconds
  uuid
};

enum class Kind : uint8_t { value, structure, list, map };

// A column or one of its children.
struct Column {
  std::string name;
  Kind kind = Kind::value;
  // Of a structure its fields, of a list its element, of a map its key and its value.
  std::vector<Column> children;
  std::string unreadable;  // why its values cannot be read, such as "an interval"; empty: they can
  size_t leaf = 0;  // its index among all leaf columns of a Parquet file, or among its siblings in Arrow
  Stored stored = Stored::bytes;
  Meaning meaning = Meaning::text;
  uint32_t length = 0;      // of a fixed value
  int32_t scale = 0;        // of decimals and of times
  bool optional = false;    // it may have nulls
  bool utc = false;         // for times: UTC; otherwise without a time zone
  bool low_first = false;   // for decimals: the lowest byte comes first
  uint32_t definition = 0;  // Parquet: the definition level of a value that is not null
  uint32_t repetition = 0;  // Parquet: the repetition level at which a list or map continues

  bool operator==(const Column&) const = default;
};

// A value as it is stored. Of a list, map or structure, `bytes` is its JSON.
struct Cell {
  bool there = false;
  int64_t number = 0;      // of integers and booleans; the bits of half, float32 and float64
  std::string_view bytes;  // of bytes, fixed and int96
};

class Rows {
 public:
  virtual ~Rows() = default;
  // Opens the file and moves behind its first `skip` rows. Returns the columns that the settings choose
  // (table_reader.h), which are the cells of each row. An error says what is wrong, without the file's name.
  virtual absl::StatusOr<std::vector<Column>> open(const FormatOptions& format, uint64_t skip) = 0;
  // Reads the next row; its bytes are valid until the next call. Returns false if there are no more. An
  // error says what is wrong, and where.
  virtual absl::StatusOr<bool> next(std::vector<Cell>& out) = 0;
  // After an error of next(): the bytes of the only row that is wrong, valid until the next call. It is
  // rejected, and next() continues behind it. Empty: call give_up().
  virtual std::string_view wrong_row() const { return {}; }
  // Call it after an error of next() without a wrong_row(). Returns how many rows are lost, counted from the
  // next one; next() continues behind them. nullopt: the rest of the file is lost.
  virtual std::optional<uint64_t> give_up() { return std::nullopt; }
  // The last rows that next() returned or lost, from the first one on that is not complete if the file grows:
  // how many there are, and how many bytes.
  struct Open {
    uint64_t rows = 0, bytes = 0;
  };
  virtual Open open_rows() const { return {}; }
  // Call it after open(). Skips the rows that end within the next `bytes`: an earlier run has read them, and
  // they are as they were. Returns their number.
  virtual absl::StatusOr<uint64_t> skip_seen(uint64_t /*bytes*/) { return 0; }
  // The approximate offset of the current row in the file, for progress.
  virtual uint64_t place() const = 0;
};

// Appends a value as JSON. Null is null, decimals are strings of digits, dates and times are ISO 8601,
// texts and bytes are strings. Bytes that are not UTF-8 stay as they are, so that the JSON parser rejects
// them.
void append_json(const Column& column, const Cell& cell, std::string& out);
// Quotes the JSON from `begin` on, which becomes the key of an object, unless it is a string.
void quote(std::string& out, size_t begin);

}  // namespace doppel::tables

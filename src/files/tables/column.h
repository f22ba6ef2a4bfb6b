#pragma once
// Columns of a table and their values, whatever kind of file they are in.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace doppel::tables {

// How values are stored.
enum class Stored : uint8_t { boolean, int32, int64, int96, float32, float64, bytes, fixed };

// What a value means.
enum class Meaning : uint8_t {
  text,  // or bytes of which nothing is known
  integer,
  unsigned_integer,
  boolean,
  real,
  half,     // a real number of two bytes
  decimal,  // `scale` of its digits are behind the point
  date,     // days since 1970
  milliseconds,
  microseconds,
  nanoseconds,  // since 1970; int96: the day of Julius, and nanoseconds
  time,         // since midnight, of which a second has 10^scale units
  uuid
};

enum class Kind : uint8_t { value, structure, list, map };

// A column, or what a column is made of.
struct Column {
  std::string name;
  Kind kind = Kind::value;
  // Of a structure its fields, of a list what it holds, of a map the key and the value.
  std::vector<Column> children;
  std::string unreadable;  // why its values cannot be read: "an interval"; empty: they can
  size_t leaf = 0;         // its place among all columns of the file, the nested ones too
  Stored stored = Stored::bytes;
  Meaning meaning = Meaning::text;
  uint32_t length = 0;      // of a fixed value
  int32_t scale = 0;        // of decimals and of times
  bool optional = false;    // there may be nulls
  bool utc = false;         // of times: they are of a zone; else they are of no known one
  bool low_first = false;   // of the bytes of decimals
  uint32_t definition = 0;  // of Parquet: at which level it is there
  uint32_t repetition = 0;  // and at which a list or a map continues
};

// A value as it is stored; nothing where it is null. Of a list, a map or a structure, `bytes` are its JSON.
struct Cell {
  bool there = false;
  int64_t number = 0;      // of numbers and truths; the bits of half, float32 and float64
  std::string_view bytes;  // of bytes, fixed and int96
};

}  // namespace doppel::tables

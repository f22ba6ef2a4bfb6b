#pragma once
// Columns of a table and their values, whatever kind of file they are in.

#include <cstdint>
#include <string>
#include <string_view>

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
  date,  // days since 1970
  milliseconds,
  microseconds,
  nanoseconds,  // since 1970; int96: the day of Julius, and nanoseconds
  uuid
};

// A column of the top level.
struct Column {
  std::string name;
  std::string unreadable;  // why its values cannot be read: "a list"; empty: they can
  size_t leaf = 0;         // its place among all columns of the file, the nested ones too
  Stored stored = Stored::bytes;
  Meaning meaning = Meaning::text;
  uint32_t length = 0;    // of a fixed value
  bool optional = false;  // there may be nulls
  bool utc = false;       // of times: they are of a zone; else they are of no known one
};

// A value as it is stored; nothing where it is null.
struct Cell {
  bool there = false;
  int64_t number = 0;      // of numbers and truths; the bits of float32 and float64
  std::string_view bytes;  // of bytes, fixed and int96
};

}  // namespace doppel::tables

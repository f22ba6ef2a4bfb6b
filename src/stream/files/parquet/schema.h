#pragma once
// The columns of a Parquet file: what its schema says of each, and whether we can read it.

#include <cstdint>
#include <string>
#include <vector>

#include "stream/files/parquet/thrift.h"

namespace doppel::parquet {

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

// Reads the schema's elements, which are a tree in the order of its nodes. Check ok() of the reader. False:
// they are no tree.
bool read_schema(ThriftReader& in, ThriftReader::Type type, std::vector<Column>& out);

}  // namespace doppel::parquet

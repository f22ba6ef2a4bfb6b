#pragma once
// The columns of a Parquet file: what its schema says of each, and whether we can read it.

#include <cstdint>
#include <string>
#include <vector>

#include "files/parquet/thrift.h"
#include "files/tables/column.h"

namespace doppel::parquet {

using tables::Column, tables::Kind, tables::Meaning, tables::Stored;

// How deep a value lies: how many optional and repeated nodes are above it, and how many repeated ones.
struct Depth {
  uint32_t definition = 0, repetition = 0;
};

// A column of any level, as it is stored.
struct Leaf {
  Column column;                  // its name is the path with dots; what it means is not known
  std::vector<std::string> path;  // names from the top
  Depth depth;
};

// Reads the schema's elements, which are a tree in the order of its nodes. Check ok() of the reader. False:
// they are no tree. Lists and maps may be written in several ways, which look the same here.
bool read_schema(ThriftReader& in, ThriftReader::Type type, std::vector<Column>& out);
// The same elements as leaves, the nested ones too. Leaves that cannot be read say why.
bool read_leaves(ThriftReader& in, ThriftReader::Type type, std::vector<Leaf>& out);

}  // namespace doppel::parquet

#pragma once
// The columns of a Parquet file: what its schema says about each, and whether doppel can read it.

#include <cstdint>
#include <string>
#include <vector>

#include "files/parquet/thrift.h"
#include "files/tables/rows.h"

namespace doppel::parquet {

using tables::Column, tables::Kind, tables::Meaning, tables::Stored;

// The levels of a column: how many of its nodes, including itself, are optional or repeated, and how many
// are repeated.
struct Depth {
  uint32_t definition = 0, repetition = 0;
};

// A leaf column at any depth, as it is stored.
struct Leaf {
  Column column;                  // its name is the path with dots; its meaning is not set
  std::vector<std::string> path;  // names from the top
  Depth depth;
};

// Reads the schema's elements, which list a tree depth first. Check ok() of the reader, too. Returns false
// if they are not a tree. Lists and maps have several forms in files; all give the same columns here.
bool read_schema(ThriftReader& in, ThriftReader::Type type, std::vector<Column>& out);
// Reads the same elements as leaves, including nested ones. A leaf that cannot be read says why.
bool read_leaves(ThriftReader& in, ThriftReader::Type type, std::vector<Leaf>& out);

}  // namespace doppel::parquet

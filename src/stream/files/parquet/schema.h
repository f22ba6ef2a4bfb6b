#pragma once
// The columns of a Parquet file: what its schema says of each, and whether we can read it.

#include <cstdint>
#include <string>
#include <vector>

#include "stream/files/parquet/thrift.h"
#include "stream/files/tables/column.h"

namespace doppel::parquet {

using tables::Column, tables::Meaning, tables::Stored;

// Reads the schema's elements, which are a tree in the order of its nodes. Check ok() of the reader. False:
// they are no tree.
bool read_schema(ThriftReader& in, ThriftReader::Type type, std::vector<Column>& out);

}  // namespace doppel::parquet

#pragma once
// A schema of Avro 1.12, parsed: a list of nodes that refer to each other by their numbers. Aliases,
// defaults, documentation and unknown logical types are left out, because reading the writer's bytes needs
// none of them.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace doppel::avro {

enum class Type : uint8_t {
  null,
  boolean,
  int32,
  int64,
  float32,
  float64,
  bytes,
  string,
  record,
  enumeration,
  array,
  map,
  choice,  // a union
  fixed
};

enum class Logical : uint8_t { none, date, time, timestamp, local_timestamp, decimal, uuid };

struct Node {
  Type type = Type::null;
  Logical logical = Logical::none;
  uint32_t per_second = 0;  // of times: units in a second
  uint32_t scale = 0;       // of a decimal
  uint64_t size = 0;        // of a fixed
  std::vector<uint32_t> children;
  // For a record, the names of its fields as JSON with a colon; for an enumeration, its symbols as JSON.
  std::vector<std::string> names;
  std::vector<std::string> plain_names;  // for a record: the names of its fields, for messages
};

struct Schema {
  std::vector<Node> nodes;
  uint32_t root = 0;
};

// `definitions` are schemas as JSON. The last one is the schema of the records; it may use names that earlier
// ones define. An error says what is wrong, in Avro's terms.
absl::StatusOr<Schema> parse_schema(std::span<const std::string_view> definitions);

}  // namespace doppel::avro

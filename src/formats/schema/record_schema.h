#pragma once
// The schema of a record that does not say by itself what its fields are called. With it the record becomes
// JSON, so that all that reads JSON reads it.

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace doppel {

// Immutable, so any thread may use it.
class RecordSchema {
 public:
  virtual ~RecordSchema() = default;
  // Appends the record as a JSON object. `data` is the record without the frame of a registry. An error is
  // the reason why the record is rejected; then what was appended is unspecified. See most_json().
  virtual absl::Status to_json(std::string_view data, std::string& out) const = 0;
};

// A record must not become much more JSON than it has bytes: an array of a billion nulls takes a few.
size_t most_json(size_t data_bytes);

// Stands for a schema that cannot be used. Every record with it is rejected with this reason.
std::shared_ptr<const RecordSchema> refused_schema(std::string reason);

// What a registry puts before the data: a zero and the number of the schema in four bytes, big endian.
inline constexpr size_t kSchemaFrame = 5;
// Whether the value starts so. `id` may be nullptr.
bool is_schema_framed(std::string_view value, uint32_t* id = nullptr);

}  // namespace doppel

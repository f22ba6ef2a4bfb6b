#pragma once
// Decodes records with a schema: Avro.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "formats/decoder.h"

namespace doppel {

// Reads and parses input.schema_file.
absl::StatusOr<std::shared_ptr<const RecordSchema>> load_schema_file(const FormatOptions& options);

// `json` decodes the records once they are JSON. A record's schema is Record::schema, or the one in
// input.schema_file. `options` must have passed check_format().
std::unique_ptr<Decoder> make_schema_decoder(const FormatOptions& options, std::unique_ptr<Decoder> json);

// The schema of records that do not name their own fields. It converts a record to JSON, so that the decoder
// of JSON can read it. Immutable, so any thread may use it.
class RecordSchema {
 public:
  virtual ~RecordSchema() = default;
  // Appends the record as a JSON object. `data` is the record without the frame of a registry. An error is
  // the reason why the record is rejected; then the appended text is unspecified. See most_json().
  virtual absl::Status to_json(std::string_view data, std::string& out) const = 0;
};

// The limit for the JSON of a record with this many bytes: an array of a billion nulls takes only a few
// bytes.
size_t most_json(size_t data_bytes);

// Returns a schema that rejects every record with this reason, in place of one that cannot be used.
std::shared_ptr<const RecordSchema> refused_schema(std::string reason);

// The frame that writers put before the data: a zero byte, then the schema's id in the registry as four
// bytes, big endian.
inline constexpr size_t kSchemaFrame = 5;
// Whether the value starts with this frame. `id` may be nullptr.
bool is_schema_framed(std::string_view value, uint32_t* id = nullptr);

// Parses the answers of a schema registry with Confluent's API.
struct RegistryAnswer {
  struct Reference {  // to another schema
    std::string name, subject;
    int64_t version = 0;
  };
  std::string schema;
  std::string type = "AVRO";  // AVRO, JSON, PROTOBUF
  std::vector<Reference> references;
};

// The body of GET /schemas/ids/ID and GET /subjects/SUBJECT/versions/VERSION.
absl::StatusOr<RegistryAnswer> parse_registry_answer(std::string_view body);

// An error that a registry answered: "error_code" and "message"; code 0 if the body is not an error.
struct RegistryError {
  int64_t code = 0;
  std::string message;
};
RegistryError parse_registry_error(std::string_view body);

}  // namespace doppel

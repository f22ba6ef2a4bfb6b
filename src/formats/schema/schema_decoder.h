#pragma once
// Decodes records with a schema: Avro.

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "formats/decoder.h"
#include "formats/schema/record_schema.h"

namespace doppel {

// Reads and parses input.schema_file.
absl::StatusOr<std::shared_ptr<const RecordSchema>> load_schema_file(const FormatOptions& options);

// `json` decodes the records once they are JSON. A record's schema is Record::schema, or the one in
// input.schema_file. `options` must have passed check_format().
std::unique_ptr<Decoder> make_schema_decoder(const FormatOptions& options, std::unique_ptr<Decoder> json);

}  // namespace doppel

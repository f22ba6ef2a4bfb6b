#pragma once
// Records of Avro as JSON. Names of fields stay, and a union is the value of its branch. What JSON does not
// have:
//
//   bytes, fixed            {"base64": "aGk="}
//   date                    "2026-01-31"
//   timestamp-...           "2026-01-31T12:00:00.123Z"; local-timestamp-...: the same without Z
//   time-...                "12:00:00.123"
//   decimal                 "12.50"
//   uuid (fixed)            "f81d4fae-7dec-11d0-a765-00a0c91e6bf6"
//   NaN, infinities         "NaN", "Infinity", "-Infinity"

#include <memory>
#include <span>
#include <string_view>

#include "absl/status/statusor.h"
#include "formats/schema/record_schema.h"

namespace doppel {

// See avro::parse_schema(). What its records cost is bounded: JSON of most_json() bytes, 200 levels.
absl::StatusOr<std::shared_ptr<const RecordSchema>> make_avro_schema(
    std::span<const std::string_view> definitions);

}  // namespace doppel

#pragma once
// Converts records of Avro to JSON. Fields keep their names, and a union becomes the value of its branch.
// Types that JSON lacks become:
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
#include "formats/schema/schema_decoder.h"

namespace doppel {

// See avro::parse_schema(). Limits each record to most_json() bytes of JSON and 200 levels.
absl::StatusOr<std::shared_ptr<const RecordSchema>> make_avro_schema(
    std::span<const std::string_view> definitions);

}  // namespace doppel

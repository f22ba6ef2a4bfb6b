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

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "formats/schema/schema_decoder.h"

namespace doppel {

// See avro::parse_schema(). Limits each record to most_json() bytes of JSON and 200 levels.
absl::StatusOr<std::shared_ptr<const RecordSchema>> make_avro_schema(
    std::span<const std::string_view> definitions);

// Appends values that JSON lacks, as JSON strings: the list above.

void append_json_integer(std::string& out, int64_t value);
// Appends the fewest digits that parse to the same number.
void append_json_real(std::string& out, float value);
void append_json_real(std::string& out, double value);
void append_json_base64(std::string& out, std::string_view bytes);  // {"base64":"..."}

// Times outside the years 1 to 9999 stay numbers.
void append_json_date(std::string& out, int64_t days);
void append_json_time_of_day(std::string& out, int64_t value, uint32_t per_second);
void append_json_timestamp(std::string& out, int64_t value, uint32_t per_second, bool utc);

// `bytes` has 16 bytes.
void append_json_uuid(std::string& out, std::string_view bytes);
// A two's complement number, big endian, divided by 10^scale. Returns false if it is too long.
bool append_json_decimal(std::string& out, std::string_view bytes, uint32_t scale);

}  // namespace doppel

#pragma once
// Appends values that JSON lacks, as JSON strings (formats/schema/avro.h has the list).

#include <cstdint>
#include <string>
#include <string_view>

namespace doppel {

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

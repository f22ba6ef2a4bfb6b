#pragma once
// How single values are written: parsed exactly, and written back in the shortest form that parses to the
// same. Every parser returns nullopt for what it does not understand; ranges are checked by the key (keys.h).

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace doppel {

// Decimals are kept as millionths, so that 0.8 is 800000 and nothing is ever rounded. More than six digits
// after the point, exponents and signs are refused.
inline constexpr int64_t kMillion = 1'000'000;
std::optional<int64_t> parse_millionths(std::string_view text);
std::string write_millionths(int64_t millionths);

// Digits; "1_000_000" is understood.
std::optional<uint64_t> parse_integer(std::string_view text);

// Bytes: "1000", "64k", "8MiB". k, M, G and KiB, MiB, GiB count in 1024, kB, MB, GB in 1000.
std::optional<uint64_t> parse_size(std::string_view text);
std::string write_size(uint64_t bytes);

// Milliseconds: "500ms", "90s", "15m", "12h", "30d", "2w". The unit is required.
std::optional<int64_t> parse_duration(std::string_view text);
std::string write_duration(int64_t ms);  // in the largest unit that is exact

// "a, b", "[a, b]" or "a": the form of lists on the command line and in the environment. Items are trimmed.
std::vector<std::string> split_list(std::string_view text);

// The value in the form of the file: in quotes if YAML needs them.
std::string write_text(std::string_view text);
std::string write_list(const std::vector<std::string>& items);

// For messages: one line, no control characters, not longer than a person reads.
std::string shown(std::string_view text);

}  // namespace doppel

#pragma once
// Parses single values exactly, and writes them in the shortest form that parses to the same value. Every
// parser returns nullopt for an invalid text. The keys check ranges (keys.h).

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace doppel {

// Decimals are stored as millionths, so that 0.8 is 800000 and nothing is rounded. More than six digits after
// the point, exponents and signs are invalid.
inline constexpr int64_t kMillion = 1'000'000;
std::optional<int64_t> parse_millionths(std::string_view text);
std::string write_millionths(int64_t millionths);

// Digits, also with underscores between them: "1_000_000".
std::optional<uint64_t> parse_integer(std::string_view text);

// Bytes: "1000", "64k", "8MiB". k, M, G and KiB, MiB, GiB are powers of 1024; kB, MB, GB are powers of 1000.
std::optional<uint64_t> parse_size(std::string_view text);
std::string write_size(uint64_t bytes);

// Milliseconds: "500ms", "90s", "15m", "12h", "30d", "2w". The unit is required.
std::optional<int64_t> parse_duration(std::string_view text);

// Splits a list from the command line or the environment: "a, b", "[a, b]" or "a". Trims the items.
std::vector<std::string> split_list(std::string_view text);

// Writes a value for the file, in quotes if YAML needs them.
std::string write_text(std::string_view text);
std::string write_list(const std::vector<std::string>& items);

// Quotes a value in a message: on one line, without control characters, at most 60 bytes.
std::string shown(std::string_view text);

}  // namespace doppel

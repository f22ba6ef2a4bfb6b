#include "docs/layout.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/bytes.h"
#include "base/checksums.h"

namespace doppel::docs_test {
namespace {

constexpr size_t kShown = 8;  // bytes of a field

// Quotes the bytes if a person can read them.
std::string readable(std::string_view bytes) {
  const bool text = std::all_of(bytes.begin(), bytes.end(), [](char c) { return c >= ' ' && c < 0x7f; });
  if (!text) return fmt::format("{} bytes", bytes.size());
  constexpr size_t kMost = 44;
  if (bytes.size() <= kMost) return fmt::format("\"{}\"", bytes);
  return fmt::format("\"{}...\", {} bytes", bytes.substr(0, kMost), bytes.size());
}

}  // namespace

std::string_view Layout::take(size_t n) {
  EXPECT_LE(n, rest_.size()) << "too few bytes at " << offset_ << "\n" << lines_;
  const std::string_view out = rest_.substr(0, n);
  rest_.remove_prefix(out.size());
  offset_ += out.size();
  return out;
}

Layout& Layout::line(size_t n, std::string_view name, std::string_view value) {
  const size_t at = offset_;
  const std::string_view bytes = take(n);
  std::string hex;
  for (const char c : bytes.substr(0, kShown))
    hex += fmt::format("{:02x} ", static_cast<unsigned>(static_cast<uint8_t>(c)));
  if (bytes.size() > kShown) hex += "..";
  lines_ += fmt::format("{:5}  {:<27}{}", at, hex, name);
  if (!value.empty()) lines_ += fmt::format(": {}", value);
  lines_ += '\n';
  return *this;
}

Layout& Layout::title(std::string_view what) {
  lines_ += fmt::format("{}{}\n", lines_.empty() ? "" : "\n", what);
  return *this;
}

template <typename T>
Layout& Layout::number(std::string_view name) {
  const T value = rest_.size() < sizeof(T) ? T{} : load<T>(rest_.data());
  return line(sizeof(T), name, fmt::format("{}", value));
}
template Layout& Layout::number<uint8_t>(std::string_view);
template Layout& Layout::number<uint32_t>(std::string_view);
template Layout& Layout::number<uint64_t>(std::string_view);
template Layout& Layout::number<int32_t>(std::string_view);
template Layout& Layout::number<int64_t>(std::string_view);

Layout& Layout::big_u64(std::string_view name) {
  uint64_t value = 0;
  for (const char c : rest_.substr(0, sizeof value)) value = value << 8 | static_cast<uint8_t>(c);
  return line(sizeof value, name, fmt::format("{}", value));
}

Layout& Layout::varint(std::string_view name) {
  ByteReader reader(rest_);
  const uint64_t value = reader.varint();
  return line(rest_.size() - reader.rest().size(), name, fmt::format("{}", value));
}

Layout& Layout::string(std::string_view name) {
  ByteReader reader(rest_);
  const std::string_view value = reader.string();
  EXPECT_TRUE(reader.ok()) << name << "\n" << lines_;
  return line(rest_.size() - reader.rest().size(), name, readable(value));
}

Layout& Layout::text(size_t n, std::string_view name) { return line(n, name, readable(rest_.substr(0, n))); }

Layout& Layout::bytes(size_t n, std::string_view name) {
  return line(n, name, n > kShown ? fmt::format("{} bytes", n) : std::string());
}

Layout& Layout::crc(std::string_view name, uint32_t seed, size_t n) {
  if (rest_.size() < sizeof(uint32_t)) return crc_is(name, 0);
  return crc_is(name, crc32c(rest_.substr(sizeof(uint32_t), n), seed));
}

Layout& Layout::crc_is(std::string_view name, uint32_t crc) {
  if (rest_.size() >= sizeof crc) {
    EXPECT_EQ(load<uint32_t>(rest_.data()), crc) << name << " at " << offset_ << "\n" << lines_;
  }
  return line(sizeof crc, name, "");
}

std::string Layout::done() {
  EXPECT_EQ(rest_.size(), 0U) << "bytes that the page does not mention, behind\n" << lines_;
  return lines_;
}

}  // namespace doppel::docs_test

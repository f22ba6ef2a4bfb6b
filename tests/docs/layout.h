#pragma once
// Takes bytes apart field by field, and prints them like the lines of an example in docs/formats.md:
//
//   8  02 00 00 00              version: 2
//
// It follows the page, not the code that wrote the bytes: a missing field or a wrong length shows in the
// following lines, and done() fails.

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace doppel::docs_test {

class Layout {
 public:
  // `offset` is the number of the first byte. The bytes must outlive the layout.
  explicit Layout(std::string_view bytes, size_t offset = 0) : rest_(bytes), offset_(offset) {}

  // Adds a line without bytes.
  Layout& title(std::string_view what);

  Layout& u8(std::string_view name) { return number<uint8_t>(name); }
  Layout& u32(std::string_view name) { return number<uint32_t>(name); }
  Layout& u64(std::string_view name) { return number<uint64_t>(name); }
  Layout& i32(std::string_view name) { return number<int32_t>(name); }
  Layout& i64(std::string_view name) { return number<int64_t>(name); }
  Layout& big_u64(std::string_view name);
  Layout& varint(std::string_view name);
  // Takes a varint and that many bytes.
  Layout& string(std::string_view name);
  Layout& text(size_t n, std::string_view name);
  Layout& bytes(size_t n, std::string_view name);
  // Takes the checksum of the following `n` bytes, or of all.
  Layout& crc(std::string_view name, uint32_t seed = 0, size_t n = std::string_view::npos);
  // Takes a checksum, and compares it with the computed one.
  Layout& crc_is(std::string_view name, uint32_t crc);

  // Returns the lines. Fails if bytes are left.
  std::string done();

 private:
  template <typename T>
  Layout& number(std::string_view name);
  std::string_view take(size_t n);
  // Takes the bytes and shows them; without a value, shows only the name.
  Layout& line(size_t n, std::string_view name, std::string_view value);

  std::string_view rest_;
  size_t offset_;
  std::string lines_;
};

}  // namespace doppel::docs_test

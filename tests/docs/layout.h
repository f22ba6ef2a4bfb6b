#pragma once
// Bytes, taken apart field by field, as the lines of an example in docs/formats.md:
//
//   8  02 00 00 00              version: 2
//
// It reads by what the page says, not by the code that wrote the bytes: a field that is missing or of another
// length shows in the lines behind it, and done() fails.

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace doppel::docs_test {

class Layout {
 public:
  // `offset` of the first byte. The bytes outlive the layout.
  explicit Layout(std::string_view bytes, size_t offset = 0) : rest_(bytes), offset_(offset) {}

  // A line without bytes.
  Layout& title(std::string_view what);

  Layout& u8(std::string_view name) { return number<uint8_t>(name); }
  Layout& u32(std::string_view name) { return number<uint32_t>(name); }
  Layout& u64(std::string_view name) { return number<uint64_t>(name); }
  Layout& i32(std::string_view name) { return number<int32_t>(name); }
  Layout& i64(std::string_view name) { return number<int64_t>(name); }
  Layout& big_u64(std::string_view name);
  Layout& varint(std::string_view name);
  // A varint and that many bytes.
  Layout& string(std::string_view name);
  Layout& text(size_t n, std::string_view name);
  Layout& bytes(size_t n, std::string_view name);
  // The checksum of what comes behind it: of `n` bytes, or of all.
  Layout& crc(std::string_view name, uint32_t seed = 0, size_t n = std::string_view::npos);
  // A checksum that was computed here.
  Layout& crc_is(std::string_view name, uint32_t crc);

  // The lines; nothing may be left.
  std::string done();

 private:
  template <typename T>
  Layout& number(std::string_view name);
  std::string_view take(size_t n);
  // Takes them and shows them; no value: the name alone.
  Layout& line(size_t n, std::string_view name, std::string_view value);

  std::string_view rest_;
  size_t offset_;
  std::string lines_;
};

}  // namespace doppel::docs_test

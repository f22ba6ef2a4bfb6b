#pragma once
// Thrift's compact protocol, in which a Parquet file describes itself. Only reading, and without generated
// code: the caller names the fields that it wants and skips the others.

#include <cstdint>
#include <string_view>

namespace doppel::parquet {

// After the first read past the end or of another type than is there, ok() is false, every further read gives
// zero or an empty string, and every loop ends: check once, at the end.
class ThriftReader {
 public:
  enum class Type : uint8_t {
    stop = 0,
    yes = 1,
    no = 2,
    i8 = 3,
    i16 = 4,
    i32 = 5,
    i64 = 6,
    real = 7,
    binary = 8,
    list = 9,
    set = 10,
    map = 11,
    structure = 12
  };

  explicit ThriftReader(std::string_view bytes) : bytes_(bytes) {}

  bool ok() const { return ok_; }
  // Bytes that were read.
  size_t at() const { return at_; }

  // Calls visit(id, type) for each field of the structure that begins here. It reads or skips the field.
  template <typename Visit>
  void each_field(const Visit& visit) {
    int16_t id = 0;
    Type type = Type::stop;
    while (next_field(id, type)) visit(id, type);
  }
  // For a field that is a structure.
  template <typename Visit>
  void each_field_of(Type type, const Visit& visit) {
    if (expect(type == Type::structure)) each_field(visit);
  }
  // Calls visit(type) for each element of a field that is a list. It reads or skips the element.
  template <typename Visit>
  void each_element(Type type, const Visit& visit) {
    Type of = Type::stop;
    for (uint64_t left = begin_list(type, of); left > 0 && ok_; --left) visit(of);
  }
  // The same by hand: how many elements follow, of what type.
  uint64_t begin_list(Type type, Type& of);

  int64_t integer(Type type);
  bool boolean(Type type);
  std::string_view binary(Type type);
  void skip(Type type, int depth = 0);

 private:
  bool expect(bool right) {
    if (!right) fail();
    return ok_;
  }
  void fail() {
    ok_ = false;
    at_ = bytes_.size();
  }
  bool next_field(int16_t& id, Type& type);
  uint8_t byte();
  uint64_t varint();
  std::string_view take(uint64_t n);

  std::string_view bytes_;
  size_t at_ = 0;
  bool ok_ = true;
};

}  // namespace doppel::parquet

#pragma once
// Reads Thrift's compact protocol, in which Parquet stores its metadata. There is no generated code: the
// caller handles the fields that it wants and skips the others.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"

namespace doppel::parquet {

// A read behind the end, or of a wrong type, is an error: ok() becomes false, all further reads return zero
// or an empty string, and all loops end. So it is enough to check once, at the end.
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
  // Number of bytes that were read.
  size_t at() const { return at_; }

  // Calls visit(id, type) for each field of the structure that begins here. visit must read or skip the
  // field.
  template <typename Visit>
  void each_field(const Visit& visit) {
    int16_t id = 0;
    Type type = Type::stop;
    while (next_field(id, type)) visit(id, type);
  }
  // The same for a field of type `type`, which must be a structure.
  template <typename Visit>
  void each_field_of(Type type, const Visit& visit) {
    if (expect(type == Type::structure)) each_field(visit);
  }
  // Calls visit(type) for each element of a list field. visit must read or skip the element.
  template <typename Visit>
  void each_element(Type type, const Visit& visit) {
    Type element = Type::stop;
    for (uint64_t left = begin_list(type, element); left > 0 && ok_; --left) visit(element);
  }
  // Begins a list without a callback: returns how many elements follow, and sets their type.
  uint64_t begin_list(Type type, Type& element);

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

// Writes Thrift's compact protocol, as far as the metadata of Parquet needs it.

// The fields of a structure must be written in ascending order of their ids.
class ThriftWriter {
 public:
  using Type = ThriftReader::Type;

  void integer(int id, int64_t value, Type type) {
    field(id, type);
    zigzag(value);
  }
  void i32(int id, int64_t value) { integer(id, value, Type::i32); }
  void i64(int id, int64_t value) { integer(id, value, Type::i64); }
  void binary(int id, std::string_view value) {
    field(id, Type::binary);
    element(value);
  }
  // Writes a field whose value of this type is already encoded.
  void raw(int id, Type type, std::string_view value) {
    field(id, type);
    out_ += value;
  }
  // Begins a list. Write each element with element(), or between begin() and end() if it is a structure.
  void list(int id, size_t size, Type element) {
    field(id, Type::list);
    out_ += static_cast<char>(0xf0 | static_cast<int>(element));
    put_varint(out_, size);
  }
  void element(int64_t value) { zigzag(value); }
  void element(std::string_view value) {
    put_varint(out_, value.size());
    out_ += value;
  }
  void begin(int id) {
    field(id, Type::structure);
    begin();
  }
  void begin() { last_.push_back(0); }
  void end() {
    out_ += '\0';
    last_.pop_back();
  }
  const std::string& bytes() const { return out_; }

 private:
  void field(int id, Type type) {
    out_ += static_cast<char>((id - last_.back()) << 4 | static_cast<int>(type));
    last_.back() = id;
  }
  void zigzag(int64_t value) {
    put_varint(out_, static_cast<uint64_t>(value) << 1 ^ static_cast<uint64_t>(value >> 63));
  }

  std::string out_;
  std::vector<int> last_{};
};

}  // namespace doppel::parquet

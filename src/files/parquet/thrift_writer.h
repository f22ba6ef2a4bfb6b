#pragma once
// Writes Thrift's compact protocol, as far as the metadata of Parquet needs it.

#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "files/parquet/thrift.h"

namespace doppel::parquet {

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
  void list(int id, size_t size, Type of) {
    field(id, Type::list);
    out_ += static_cast<char>(0xf0 | static_cast<int>(of));
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

#include "files/parquet/thrift.h"

namespace doppel::parquet {
namespace {

constexpr int kDeepestSkipped = 32;

int64_t from_zigzag(uint64_t value) { return static_cast<int64_t>(value >> 1 ^ (~(value & 1) + 1)); }

}  // namespace

uint8_t ThriftReader::byte() {
  if (at_ >= bytes_.size()) {
    fail();
    return 0;
  }
  return static_cast<uint8_t>(bytes_[at_++]);
}

uint64_t ThriftReader::varint() {
  uint64_t value = 0;
  for (int shift = 0; shift < 64; shift += 7) {
    const uint8_t next = byte();
    value |= static_cast<uint64_t>(next & 0x7f) << shift;
    if (next < 0x80) return ok_ ? value : 0;
  }
  fail();
  return 0;
}

std::string_view ThriftReader::take(uint64_t n) {
  if (n > bytes_.size() - at_) {
    fail();
    return {};
  }
  const std::string_view out = bytes_.substr(at_, n);
  at_ += n;
  return out;
}

// A small difference from the last id is in the upper half of the type's byte; otherwise the id follows.
bool ThriftReader::next_field(int16_t& id, Type& type) {
  const uint8_t head = byte();
  type = static_cast<Type>(head & 0xf);
  if (!ok_ || type == Type::stop) return false;
  id = static_cast<int16_t>((head >> 4) != 0 ? id + (head >> 4) : from_zigzag(varint()));
  return ok_;
}

uint64_t ThriftReader::begin_list(Type type, Type& element) {
  if (!expect(type == Type::list || type == Type::set)) return 0;
  const uint8_t head = byte();
  element = static_cast<Type>(head & 0xf);
  return (head >> 4) == 0xf ? varint() : head >> 4;
}

int64_t ThriftReader::integer(Type type) {
  if (type == Type::i8) return static_cast<int8_t>(byte());
  if (!expect(type == Type::i16 || type == Type::i32 || type == Type::i64)) return 0;
  return from_zigzag(varint());
}

// Only for fields, whose type is their value. Not for elements of lists.
bool ThriftReader::boolean(Type type) {
  expect(type == Type::yes || type == Type::no);
  return type == Type::yes;
}

std::string_view ThriftReader::binary(Type type) {
  return expect(type == Type::binary) ? take(varint()) : std::string_view();
}

void ThriftReader::skip(Type type, int depth) {
  if (!expect(depth < kDeepestSkipped)) return;
  // In lists and maps, a boolean takes one byte.
  const auto element = [&](Type kind) {
    if (kind == Type::yes || kind == Type::no) {
      byte();
    } else {
      skip(kind, depth + 1);
    }
  };
  switch (type) {
    case Type::yes:
    case Type::no:
      return;
    case Type::i8:
      byte();
      return;
    case Type::i16:
    case Type::i32:
    case Type::i64:
      varint();
      return;
    case Type::real:
      take(sizeof(double));
      return;
    case Type::binary:
      take(varint());
      return;
    case Type::list:
    case Type::set:
      each_element(type, element);
      return;
    case Type::map: {
      const uint64_t size = varint();
      if (size == 0) return;
      const uint8_t types = byte();
      for (uint64_t left = size; left > 0 && ok_; --left) {
        element(static_cast<Type>(types >> 4));
        element(static_cast<Type>(types & 0xf));
      }
      return;
    }
    case Type::structure:
      each_field([&](int16_t, Type field_type) { skip(field_type, depth + 1); });
      return;
    case Type::stop:
      break;
  }
  fail();
}

}  // namespace doppel::parquet

#pragma once
// FlatBuffers, the encoding of Arrow's metadata: tables, vectors and strings in one buffer. Each access is
// checked against the bounds. An invalid field reads as if it were missing; ok() tells afterwards.

#include <cstdint>
#include <string_view>

#include "base/bytes.h"

namespace doppel::arrow {

class FlatBuffer {
 public:
  explicit FlatBuffer(std::string_view bytes) : bytes_(bytes) {}
  bool ok() const { return ok_; }

  // Whether these bytes are within the buffer.
  bool holds(uint64_t at, uint64_t size) {
    const bool held = at <= bytes_.size() && size <= bytes_.size() - at;
    ok_ &= held;
    return held;
  }
  template <typename T>
  T number(uint64_t at) {
    return holds(at, sizeof(T)) ? load<T>(bytes_.data() + at) : T{};
  }
  std::string_view bytes(uint64_t at, uint64_t size) {
    return holds(at, size) ? bytes_.substr(at, size) : std::string_view();
  }
  // The position that the offset at `at` points to.
  uint64_t follow(uint64_t at) { return at + number<uint32_t>(at); }

 private:
  std::string_view bytes_;
  bool ok_ = true;
};

class FlatTable;

class FlatVector {
 public:
  FlatVector() = default;  // a missing vector: it is empty
  uint64_t size() const { return size_; }
  // For vectors of structures of `width` bytes: the number `field` bytes into element i.
  template <typename T>
  T number(uint64_t i, uint64_t width, uint64_t field = 0) const {
    return i < size_ ? buffer_->number<T>(begin_ + i * width + field) : T{};
  }
  FlatTable table(uint64_t i) const;

 private:
  friend class FlatTable;
  FlatVector(FlatBuffer& buffer, uint64_t begin, uint64_t size)
      : buffer_(&buffer), begin_(begin), size_(size) {}
  FlatBuffer* buffer_ = nullptr;
  uint64_t begin_ = 0, size_ = 0;
};

class FlatTable {
 public:
  FlatTable() = default;  // a missing table: all of its fields are missing, too
  static FlatTable root(FlatBuffer& buffer) { return {buffer, buffer.follow(0)}; }

  bool there() const { return buffer_ != nullptr; }
  template <typename T>
  T number(int field, T otherwise = {}) const {
    const uint64_t at = place(field);
    return buffer_ == nullptr || at == 0 ? otherwise : buffer_->number<T>(at);
  }
  bool truth(int field) const { return number<uint8_t>(field) != 0; }
  FlatTable table(int field) const {
    const uint64_t at = place(field);
    return buffer_ == nullptr || at == 0 ? FlatTable() : FlatTable(*buffer_, buffer_->follow(at));
  }
  std::string_view text(int field) const {
    const FlatVector bytes = vector(field, 1);
    return buffer_ == nullptr || bytes.size() == 0 ? std::string_view()
                                                   : buffer_->bytes(bytes.begin_, bytes.size_);
  }
  // A vector whose elements have `width` bytes.
  FlatVector vector(int field, uint64_t width) const {
    const uint64_t at = place(field);
    if (buffer_ == nullptr || at == 0) return {};
    const uint64_t begin = buffer_->follow(at);
    const uint64_t size = buffer_->number<uint32_t>(begin);
    if (!buffer_->holds(begin + sizeof(uint32_t), size * width)) return {};
    return {*buffer_, begin + sizeof(uint32_t), size};
  }

 private:
  friend class FlatVector;
  FlatTable(FlatBuffer& buffer, uint64_t at) : buffer_(&buffer), at_(at) {
    index_ = at_ - static_cast<uint64_t>(int64_t{buffer.number<int32_t>(at_)});
    index_bytes_ = buffer.number<uint16_t>(index_);
  }
  // The position of a field; 0 if it is missing.
  uint64_t place(int field) const {
    const uint64_t entry = 4 + 2 * static_cast<uint64_t>(field);
    if (buffer_ == nullptr || entry + sizeof(uint16_t) > index_bytes_) return 0;
    const uint16_t offset = buffer_->number<uint16_t>(index_ + entry);
    return offset == 0 ? 0 : at_ + offset;
  }
  FlatBuffer* buffer_ = nullptr;
  uint64_t at_ = 0;
  uint64_t index_ = 0;  // position of the vtable, which lists the fields' positions
  uint16_t index_bytes_ = 0;
};

inline FlatTable FlatVector::table(uint64_t i) const {
  return i < size_ ? FlatTable(*buffer_, buffer_->follow(begin_ + i * sizeof(uint32_t))) : FlatTable();
}

}  // namespace doppel::arrow

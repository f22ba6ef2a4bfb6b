#pragma once
// Little-endian fixed-width integers, varints and length-prefixed strings, the building blocks of all on-disk
// formats.

#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace doppel {

template <typename T>
inline T load(const void* p) {
  T value;
  std::memcpy(&value, p, sizeof value);
  return value;
}
template <typename T>
inline void store(void* p, T value) {
  std::memcpy(p, &value, sizeof value);
}
template <typename T>
inline void put_fixed(std::string& out, T value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}
inline void put_varint(std::string& out, uint64_t value) {
  while (value >= 0x80) {
    out.push_back(static_cast<char>(value | 0x80));
    value >>= 7;
  }
  out.push_back(static_cast<char>(value));
}
inline void put_string(std::string& out, std::string_view bytes) {
  put_varint(out, bytes.size());
  out.append(bytes);
}

// Reads what the functions above wrote. After the first read past the end, ok() is false and every further
// read returns zero or an empty string, so callers check once, at the end.
class ByteReader {
 public:
  explicit ByteReader(std::string_view bytes) : rest_(bytes) {}
  bool ok() const { return ok_; }
  bool done() const { return ok_ && rest_.empty(); }
  std::string_view rest() const { return rest_; }

  template <typename T>
  T fixed() {
    std::string_view b = bytes(sizeof(T));
    return ok_ ? load<T>(b.data()) : T{};
  }
  uint64_t varint() {
    uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      if (rest_.empty()) break;
      auto byte = static_cast<uint8_t>(rest_.front());
      rest_.remove_prefix(1);
      value |= static_cast<uint64_t>(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
    ok_ = false;
    rest_ = {};
    return 0;
  }
  std::string_view bytes(size_t n) {
    if (n > rest_.size()) {
      ok_ = false;
      rest_ = {};
      return {};
    }
    std::string_view b = rest_.substr(0, n);
    rest_.remove_prefix(n);
    return b;
  }
  std::string_view string() { return bytes(varint()); }

 private:
  std::string_view rest_;
  bool ok_ = true;
};

// A std::vector that does not zero elements that are about to be overwritten.
template <typename T>
class UninitialisedAllocator : public std::allocator<T> {
 public:
  template <typename U>
  struct rebind {
    using other = UninitialisedAllocator<U>;
  };
  template <typename U, typename... Args>
  void construct(U* p, Args&&... args) {
    if constexpr (sizeof...(Args) == 0) {
      static_assert(std::is_trivially_default_constructible_v<U>);
      ::new (static_cast<void*>(p)) U;
    } else {
      ::new (static_cast<void*>(p)) U(std::forward<Args>(args)...);
    }
  }
};

template <typename T>
using PodVector = std::vector<T, UninitialisedAllocator<T>>;

}  // namespace doppel

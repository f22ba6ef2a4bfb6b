#pragma once
// The structures of the Arrow C data interface, which its specification fixes for all implementations
// (https://arrow.apache.org/docs/format/CDataInterface.html), and an owner for them.

#include <cstdint>
#include <utility>

extern "C" {

struct ArrowSchema {
  const char* format;
  const char* name;
  const char* metadata;
  int64_t flags;
  int64_t n_children;
  ArrowSchema** children;
  ArrowSchema* dictionary;
  void (*release)(ArrowSchema*);
  void* private_data;
};

struct ArrowArray {
  int64_t length;
  int64_t null_count;
  int64_t offset;
  int64_t n_buffers;
  int64_t n_children;
  const void** buffers;
  ArrowArray** children;
  ArrowArray* dictionary;
  void (*release)(ArrowArray*);
  void* private_data;
};

struct ArrowArrayStream {
  int (*get_schema)(ArrowArrayStream*, ArrowSchema* out);
  int (*get_next)(ArrowArrayStream*, ArrowArray* out);
  const char* (*get_last_error)(ArrowArrayStream*);
  void (*release)(ArrowArrayStream*);
  void* private_data;
};
}

namespace doppel::python {

inline constexpr int64_t kArrowNullable = 2;  // ArrowSchema::flags

// Owns a structure and releases it.
template <typename T>
class Owned {
 public:
  Owned() = default;
  explicit Owned(T* from) : value_(*from) { from->release = nullptr; }
  Owned(Owned&& other) noexcept : value_(std::exchange(other.value_, T{})) {}
  Owned& operator=(Owned&& other) noexcept {
    std::swap(value_, other.value_);
    return *this;
  }
  ~Owned() {
    if (value_.release != nullptr) value_.release(&value_);
  }
  T* get() { return &value_; }
  T* operator->() { return &value_; }
  const T* operator->() const { return &value_; }

 private:
  T value_{};
};

}  // namespace doppel::python

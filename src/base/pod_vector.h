#pragma once
// A std::vector that does not zero elements that are about to be overwritten.

#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

namespace doppel {

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

#pragma once
// Memory straight from the system, in place for ever: address space is reserved at once, pages are
// used (and paid for) from the front as they are touched, zero before the first touch.

#include <cstddef>
#include <utility>

namespace doppel {

class Pages {
 public:
  Pages() = default;
  // Reserves address space for `bytes`, or for what the system gives, but at least `least`: without that it
  // aborts. None of it may be touched before grow(). `huge_from`: the first byte from which huge pages are
  // asked for (small things should stay small).
  Pages(size_t bytes, size_t least, size_t huge_from);
  ~Pages();
  Pages(Pages&& other) noexcept { swap(other); }
  Pages& operator=(Pages&& other) noexcept {
    swap(other);
    return *this;
  }
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;

  // From now on the first `bytes` may be touched. False if they were not reserved or the system refuses.
  bool grow(size_t bytes);
  // The same, but aborts.
  void require(size_t bytes);

  // Takes the memory of all that may be touched, for whoever is going to use nearly all of it: a page that is
  // read before it is written costs two faults, and the second one stops all other threads.
  void take_all();

  unsigned char* data() const { return data_; }

 private:
  void swap(Pages& other) noexcept {
    std::swap(mapping_, other.mapping_);
    std::swap(mapped_, other.mapped_);
    std::swap(data_, other.data_);
    std::swap(usable_, other.usable_);
    std::swap(reserved_, other.reserved_);
    std::swap(huge_from_, other.huge_from_);
  }

  void* mapping_ = nullptr;
  size_t mapped_ = 0;
  unsigned char* data_ = nullptr;  // aligned to a huge page
  size_t usable_ = 0;
  size_t reserved_ = 0;
  size_t huge_from_ = 0;
};

inline constexpr size_t kHugePage = size_t{2} << 20;

}  // namespace doppel

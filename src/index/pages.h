#pragma once
// Memory straight from the system, in place for ever: address space is reserved at once, pages are
// used (and paid for) from the front as they are touched, zero before the first touch.

#include <cstddef>
#include <functional>
#include <utility>

namespace doppel {

// Hears of memory that is about to be used for the first time, so that another thread may take it from the
// system meanwhile: the first touch of a huge page takes up to a millisecond. It need not do anything. The
// memory may have been given back when it gets there.
using FreshMemory = std::function<void(void* at, size_t bytes)>;

class Pages {
 public:
  Pages() = default;
  // Reserves address space for `bytes`, or for what the system gives, but at least `least`: without that the
  // process ends (out_of_memory()). None of it may be touched before grow(). `huge_from`: the first byte from
  // which huge pages are asked for (small things should stay small).
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
  // The same, but without it the process ends.
  void require(size_t bytes);

  // Takes the memory of all that may be touched, for a caller that is going to use nearly all of it: a page
  // that is read before it is written costs two faults, and the second one stops all other threads.
  void take_all();

  // So much is in use, and `lead` more will be soon: announces what that is, as far as it may be touched.
  void ahead(size_t used, size_t lead, const FreshMemory& fresh) {
    if (used + lead > announced_ && announced_ < usable_) announce(used, lead, fresh);
  }
  // How much it has announced, from the front.
  size_t announced() const { return announced_; }

  unsigned char* data() const { return data_; }

 private:
  void announce(size_t used, size_t lead, const FreshMemory& fresh);
  void swap(Pages& other) noexcept {
    std::swap(mapping_, other.mapping_);
    std::swap(mapped_, other.mapped_);
    std::swap(data_, other.data_);
    std::swap(usable_, other.usable_);
    std::swap(reserved_, other.reserved_);
    std::swap(huge_from_, other.huge_from_);
    std::swap(announced_, other.announced_);
  }

  void* mapping_ = nullptr;
  size_t mapped_ = 0;
  unsigned char* data_ = nullptr;  // aligned to a huge page
  size_t usable_ = 0;
  size_t reserved_ = 0;
  size_t huge_from_ = 0;
  size_t announced_ = 0;
};

inline constexpr size_t kHugePage = size_t{2} << 20;

}  // namespace doppel

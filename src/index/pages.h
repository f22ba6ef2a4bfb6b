#pragma once
// Memory directly from the system that never moves. Address space is reserved at once; pages cost memory only
// when they are first touched, from the front, and are then zero.

#include <cstddef>
#include <functional>
#include <utility>

namespace doppel {

// Called with memory that is about to be used for the first time, so that another thread may touch it in
// advance: the first touch of a huge page takes up to a millisecond. It may do nothing. The memory may
// already be released when that thread touches it.
using FreshMemory = std::function<void(void* at, size_t bytes)>;

class Pages {
 public:
  Pages() = default;
  // Reserves address space for `bytes`, or less if the system refuses, but at least `least`; if that fails,
  // the process ends (out_of_memory()). None of it may be touched before grow(). From the offset `huge_from`
  // on, huge pages are requested, so that small tables stay small.
  Pages(size_t bytes, size_t least, size_t huge_from);
  ~Pages();
  Pages(Pages&& other) noexcept { swap(other); }
  Pages& operator=(Pages&& other) noexcept {
    swap(other);
    return *this;
  }
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;

  // Makes the first `bytes` usable. Returns false if they are not reserved or the system refuses.
  bool grow(size_t bytes);
  // Like grow(), but ends the process instead of returning false.
  void require(size_t bytes);

  // Touches all usable memory, for a caller that will use nearly all of it: a page that is read before it is
  // written costs two faults, and the second one stops all other threads.
  void take_all();

  // `used` bytes are in use, and `lead` more will be soon: announces the usable part of these.
  void ahead(size_t used, size_t lead, const FreshMemory& fresh) {
    if (used + lead > announced_ && announced_ < usable_) announce(used, lead, fresh);
  }
  // The size of the announced part, from the front.
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

#include "index/pages.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdint>

#include "base/memory_limit.h"

namespace doppel {
namespace {

constexpr size_t kPage = 4096;

size_t round_up(size_t n, size_t unit) { return (n + unit - 1) / unit * unit; }

}  // namespace

Pages::Pages(size_t bytes, size_t least, size_t huge_from) : huge_from_(round_up(huge_from, kHugePage)) {
  for (;; bytes = std::max(bytes / 2, least)) {
    reserved_ = round_up(bytes, kPage);
    mapped_ = reserved_ + kHugePage;
    // PROT_NONE counts neither as memory nor towards overcommit limits.
    mapping_ = mmap(nullptr, mapped_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (mapping_ != MAP_FAILED) break;
    if (bytes <= least) out_of_memory("the index");
  }
  data_ = reinterpret_cast<unsigned char*>(round_up(reinterpret_cast<uintptr_t>(mapping_), kHugePage));
}

Pages::~Pages() {
  if (mapping_ != nullptr) munmap(mapping_, mapped_);
}

bool Pages::grow(size_t bytes) {
  bytes = round_up(bytes, kPage);
  if (bytes > reserved_) return false;
  // Beyond the first huge page, grows by whole huge pages: a protection boundary inside one would split it
  // into small pages.
  if (bytes > huge_from_) bytes = std::min(round_up(bytes, kHugePage), reserved_);
  if (bytes <= usable_) return true;
  if (mprotect(data_ + usable_, bytes - usable_, PROT_READ | PROT_WRITE) != 0) return false;
  const size_t from = std::max(usable_, huge_from_);
  if (bytes > from) madvise(data_ + from, bytes - from, MADV_HUGEPAGE);
  usable_ = bytes;
  return true;
}

void Pages::require(size_t bytes) {
  if (!grow(bytes)) out_of_memory("the index");
}

void Pages::announce(size_t used, size_t lead, const FreshMemory& fresh) {
  const size_t from = std::max(announced_, round_up(used, kPage));
  const size_t wanted = used + lead;
  announced_ = std::min(usable_, wanted > huge_from_ ? round_up(wanted, kHugePage) : round_up(wanted, kPage));
  if (from < announced_ && fresh) fresh(data_ + from, announced_ - from);
}

void Pages::take_all() {
  announced_ = usable_;
#ifdef MADV_POPULATE_WRITE
  if (madvise(data_, usable_, MADV_POPULATE_WRITE) == 0) return;
#endif
  // For kernels without MADV_POPULATE_WRITE.
  for (size_t at = 0; at < usable_; at += kPage) {
    volatile unsigned char& byte = data_[at];
    byte = byte;
  }
}

}  // namespace doppel

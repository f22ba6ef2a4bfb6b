#include "engine/engine.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <vector>

#include "index/pages.h"

namespace doppel {
namespace {

size_t resident(void* at, size_t bytes) {
  std::vector<unsigned char> pages(bytes / 4096);
  EXPECT_EQ(mincore(at, bytes, pages.data()), 0);
  size_t count = 0;
  for (unsigned char page : pages) count += page & 1;
  return count * 4096;
}

TEST(MemoryAhead, TakesWhatPagesAnnounce) {
  constexpr size_t kBytes = size_t{8} << 20;
  Pages pages(kBytes, kBytes, kBytes);
  pages.require(kBytes);
  if (madvise(pages.data(), 4096, MADV_POPULATE_WRITE) != 0) GTEST_SKIP() << "an older kernel";
  MemoryAhead memory;
  const FreshMemory fresh = [&](void* at, size_t bytes) { memory.take(at, bytes); };
  pages.ahead(size_t{1} << 20, size_t{2} << 20, fresh);
  memory.wait();
  // Without the part that is already in use.
  EXPECT_EQ(resident(pages.data(), kBytes), (size_t{2} << 20) + 4096);
  EXPECT_EQ(pages.announced(), size_t{3} << 20);
  pages.ahead(size_t{1} << 20, size_t{2} << 20, fresh);  // it is there already
  pages.ahead(size_t{7} << 20, size_t{2} << 20, fresh);  // up to the end of the usable part
  memory.wait();
  EXPECT_EQ(resident(pages.data(), kBytes), (size_t{3} << 20) + 4096);
  EXPECT_EQ(pages.announced(), kBytes);
}

TEST(MemoryAhead, PassesOverWhatIsGone) {
  void* gone = mmap(nullptr, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(gone, MAP_FAILED);
  ASSERT_EQ(munmap(gone, 1 << 20), 0);
  MemoryAhead memory;
  memory.take(gone, 1 << 20);
  memory.wait();
}

TEST(MemoryAhead, EndsWithWorkLeft) {
  std::vector<Pages> pages;
  MemoryAhead memory;
  for (int i = 0; i < 20; ++i) {
    pages.emplace_back(size_t{2} << 20, size_t{2} << 20, 0);
    pages.back().require(size_t{2} << 20);
    memory.take(pages.back().data(), size_t{2} << 20);
  }
}

}  // namespace
}  // namespace doppel

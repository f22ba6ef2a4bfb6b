// Segments as files, and the readers of their pages.

#include "state/segment_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <filesystem>
#include <memory>
#include <thread>

#include "index/segment_build.h"
#include "support.h"

namespace doppel {
namespace {

using state_test::TempDir;
using testing::HasSubstr;

constexpr uint64_t kPages = 700;

std::string numbered_pages(uint64_t pages) {
  std::string out;
  for (uint64_t page = 0; page < pages; ++page) {
    put_fixed(out, page);
    out.resize((page + 1) * kSegmentPage);
  }
  return out;
}

// Pages that know their number.
std::string write_pages(const TempDir& dir, const std::string& name) {
  const std::string path = dir.file(name);
  auto out = SegmentFileWriter::create(path);
  EXPECT_TRUE(out.ok());
  EXPECT_TRUE(out->write_at(0, numbered_pages(kPages)).ok());
  EXPECT_TRUE(out->finish().ok());
  return path;
}

struct AlignedPages {
  alignas(kSegmentPage) uint8_t bytes[kPages][kSegmentPage];
};

class PageReadersTest : public testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    reader = GetParam() ? ring_page_reader() : threaded_page_reader(4);
    if (reader == nullptr) GTEST_SKIP() << "this system has no io_uring";
  }
  std::unique_ptr<PageReader> reader;
};

TEST_P(PageReadersTest, EachPageArrivesWhereItIsWanted) {
  const TempDir dir;
  const auto first = SegmentFile::open(write_pages(dir, "first"), false);
  const auto second = SegmentFile::open(write_pages(dir, "second"), false);
  ASSERT_TRUE(first.ok() && second.ok());
  std::vector<std::jthread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&] {
      auto pages = std::make_unique<AlignedPages>();
      for (uint64_t n = 0; n <= kPages; n += 50) {
        std::vector<PageRead> reads;
        for (uint64_t i = 0; i < n; ++i) {
          const uint64_t page = i * 37 % kPages;
          reads.push_back({(i % 2 == 0 ? *first : *second).get(), page * kSegmentPage, pages->bytes[i]});
        }
        ASSERT_TRUE(reader->read(reads).ok());
        for (uint64_t i = 0; i < n; ++i) ASSERT_EQ(load<uint64_t>(pages->bytes[i]), i * 37 % kPages);
      }
    });
  }
}

TEST_P(PageReadersTest, APageThatIsMissingIsNamedAndTheOthersAreRead) {
  const TempDir dir;
  const auto file = SegmentFile::open(write_pages(dir, "short"), false);
  ASSERT_TRUE(file.ok());
  auto pages = std::make_unique<AlignedPages>();
  std::vector<PageRead> reads;
  for (uint64_t i = 0; i < 10; ++i)
    reads.push_back({file->get(), (i == 4 ? kPages : i) * kSegmentPage, pages->bytes[i]});
  const absl::Status status = reader->read(reads);
  EXPECT_TRUE(absl::IsDataLoss(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("short"));
  EXPECT_THAT(std::string(status.message()), HasSubstr(std::to_string(kPages * kSegmentPage)));
  EXPECT_TRUE(reader->read(std::span(reads).first(4)).ok());
  EXPECT_EQ(load<uint64_t>(pages->bytes[3]), 3u);
}

INSTANTIATE_TEST_SUITE_P(Both, PageReadersTest, testing::Bool(),
                         [](const auto& instance) { return instance.param ? "ring" : "threads"; });

// io_uring is refused: no file descriptor is left for it.
TEST(PageReaders, ThreadsReadWhereTheSystemHasNoRing) {
  const TempDir dir;
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  rlimit none = before;
  none.rlim_cur = 3;
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  EXPECT_EQ(ring_page_reader(), nullptr);
  const auto directory = SegmentDirectory::temporary(dir.path());
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  ASSERT_TRUE(directory.ok()) << directory.status();
  const auto file = SegmentFile::open(write_pages(dir, "first"), false);
  ASSERT_TRUE(file.ok());
  auto pages = std::make_unique<AlignedPages>();
  std::vector<PageRead> reads;
  for (uint64_t i = 0; i < 100; ++i) reads.push_back({file->get(), i * kSegmentPage, pages->bytes[i]});
  ASSERT_TRUE((*directory)->reader().read(reads).ok());
  for (uint64_t i = 0; i < 100; ++i) EXPECT_EQ(load<uint64_t>(pages->bytes[i]), i);
}

TEST(SegmentFileTest, AnUnfinishedFileLeavesNothing) {
  const TempDir dir;
  {
    auto out = SegmentFileWriter::create(dir.file("segment"));
    ASSERT_TRUE(out.ok());
    ASSERT_TRUE(out->write_at(0, "begun").ok());
  }
  EXPECT_TRUE(std::filesystem::is_empty(dir.path()));
}

TEST(SegmentFileTest, ASegmentIsWrittenAndOpened) {
  const TempDir dir;
  const CandidateIndexOptions options;
  SegmentBuilder builder(options, 5);
  const std::vector<uint8_t> slices(static_cast<size_t>(options.num_perm), 3);
  const std::vector<uint64_t> keys(static_cast<size_t>(options.banding.bands), 9);
  const uint32_t mask = ~uint32_t{0};
  builder.add({.slices = slices.data(), .digest = {1, 2}, .mask = &mask}, keys.data());
  const std::string path = dir.file("segment");
  {
    auto out = SegmentFileWriter::create(path);
    ASSERT_TRUE(out.ok());
    ASSERT_TRUE(builder.write(kFilterColumns, *out).ok());
    EXPECT_FALSE(exists(path));
    ASSERT_TRUE(out->finish().ok());
  }
  EXPECT_TRUE(exists(path));
  auto file = SegmentFile::open(path, false);
  ASSERT_TRUE(file.ok());
  const auto segment = Segment::open(options, *std::move(file));
  ASSERT_TRUE(segment.ok()) << segment.status();
  EXPECT_EQ((*segment)->first(), 5u);
  EXPECT_EQ((*segment)->end(), 6u);
}

}  // namespace
}  // namespace doppel

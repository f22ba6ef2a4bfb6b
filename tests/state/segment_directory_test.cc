// Segments as files in a directory.
#include "state/segment_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "temporary_directory.h"

namespace doppel {
namespace {

using testing::IsEmpty;
using testing::UnorderedElementsAre;

std::vector<std::string> files_in(const std::string& path) {
  std::vector<std::string> out;
  for (const auto& entry : std::filesystem::directory_iterator(path)) out.push_back(entry.path().filename());
  return out;
}

void write(SegmentDirectory& directory, const SegmentName& name, const std::string& bytes,
           bool finish = true) {
  auto file = directory.create(name);
  ASSERT_TRUE(file.ok()) << file.status();
  ASSERT_TRUE((*file)->write_at(0, bytes).ok());
  if (finish) {
    ASSERT_TRUE((*file)->finish().ok());
  }
}

TEST(SegmentDirectory, KeepsWhatWasFinished) {
  const TemporaryDirectory dir;
  auto directory = SegmentDirectory::open(dir / "s", 100);
  ASSERT_TRUE(directory.ok()) << directory.status();
  write(**directory, {0, 10}, "ten");
  write(**directory, {10, 15}, "five");
  write(**directory, {15, 30}, "lost", false);
  EXPECT_THAT(files_in(dir / "s"), UnorderedElementsAre("0-10", "10-15"));
  EXPECT_EQ((*directory)->list().size(), 2U);
  auto source = (*directory)->open({10, 15});
  ASSERT_TRUE(source.ok());
  std::string bytes(4, '\0');
  ASSERT_TRUE((*source)->read_at(0, bytes.data(), bytes.size()).ok());
  EXPECT_EQ(bytes, "five");
  EXPECT_FALSE((*directory)->open({15, 30}).ok());
  (*directory)->remove({0, 10});
  EXPECT_THAT(files_in(dir / "s"), UnorderedElementsAre("10-15"));
  directory->reset();
  EXPECT_THAT(files_in(dir / "s"), UnorderedElementsAre("10-15"));
}

// Segments of originals that the index does not have, and names that no version writes.
TEST(SegmentDirectory, RemovesWhatIsOfNoUse) {
  const TemporaryDirectory dir;
  std::filesystem::create_directories(dir / "s");
  for (const char* name :
       {"0-10", "10-20", "20-21", "5-25", "0-10.tmp", "x", "-", "1-", "-1", "3-3", "4-2", "1-2x"})
    std::ofstream(dir / ("s/" + std::string(name))) << "bytes";
  ASSERT_TRUE(SegmentDirectory::open(dir / "s", 20).ok());
  EXPECT_THAT(files_in(dir / "s"), UnorderedElementsAre("0-10", "10-20"));
}

TEST(SegmentDirectory, ATemporaryOneEndsWithItsObject) {
  const TemporaryDirectory dir;
  {
    auto directory = SegmentDirectory::temporary(dir / "");
    ASSERT_TRUE(directory.ok()) << directory.status();
    write(**directory, {0, 10}, "ten");
    EXPECT_EQ(files_in(dir / "").size(), 1U);
  }
  EXPECT_THAT(files_in(dir / ""), IsEmpty());
  EXPECT_FALSE(SegmentDirectory::temporary(dir / "none").ok());
}

TEST(SegmentDirectory, ThoseOfAStateDirectory) {
  const TemporaryDirectory dir;
  for (const char* name : {"segments-a", "segments-b", "others"}) {
    std::filesystem::create_directories(dir / name);
    std::ofstream(dir / (std::string(name) + "/0-10")) << "bytes";
  }
  EXPECT_EQ(SegmentDirectory::bytes_of(dir / ""), 10U);
  SegmentDirectory::remove_others(dir / "", {"segments-b"});
  EXPECT_THAT(files_in(dir / ""), UnorderedElementsAre("segments-b", "others"));
  EXPECT_EQ(SegmentDirectory::bytes_of(dir / ""), 5U);
}

}  // namespace
}  // namespace doppel

// State directories that earlier versions wrote: tests/data/upgrade/NAME/state. A version that changes the
// format adds a folder (tests/data/upgrade/make), and removes none.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "commands/run_doppel.h"

namespace doppel::testing {
namespace {

using ::testing::HasSubstr;

TEST(Upgrade, StateDirectoriesOfEarlierVersionsAreWholeAndGoOn) {
  int count = 0;
  for (const auto& folder : fs::directory_iterator(fs::path(DOPPEL_SOURCE_DIR) / "tests/data/upgrade")) {
    if (!folder.is_directory()) continue;
    SCOPED_TRACE(folder.path().string());
    ++count;
    TempDir dir;
    fs::copy(folder.path() / "state", dir / "state", fs::copy_options::recursive);
    const std::string checksum = read_file(folder.path() / "state.checksum");
    const Ran inspected = run_doppel("inspect --json '" + (dir / "state") + "'");
    EXPECT_EQ(inspected.code, 0) << inspected.out << inspected.err;
    EXPECT_THAT(inspected.out,
                HasSubstr("\"index_checksum\":\"" + checksum.substr(0, checksum.find('\n')) + "\""));

    // Its documents come again, after a line that it has not seen; all of them are known.
    const std::string before = read_file(folder.path() / "documents.jsonl");
    write_file(dir / "again.jsonl", R"({"id":"new","text":"nobody has seen this before"})"
                                    "\n" +
                                        before);
    const Ran again = run_doppel("scan -q --all --state '" + (dir / "state") + "' -o '" + (dir / "out") +
                                     "' '" + (dir / "again.jsonl") + "'",
                                 "DOPPEL_HASH_KEY=000102030405060708090a0b0c0d0e0f");
    EXPECT_EQ(again.code, 0) << again.err;
    const std::string out = read_file(dir / "out");
    size_t unique = 0, lines = 0;
    for (size_t at = 0; at < out.size(); at = out.find('\n', at) + 1) {
      ++lines;
      unique += out.substr(at, out.find('\n', at) - at).find("\"verdict\":\"unique\"") != std::string::npos;
    }
    EXPECT_EQ(lines, 41U) << out;
    EXPECT_EQ(unique, 1U) << out;
  }
  EXPECT_GT(count, 0);
}

}  // namespace
}  // namespace doppel::testing

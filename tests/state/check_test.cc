// Deliberately broken contracts of the state directory: each ends the process, nothing is written, and the
// next start verifies everything and continues from the last commit.
#include "base/check.h"

#include <gmock/gmock.h>

#include <functional>
#include <map>

#include "state/columns.h"
#include "state/journal.h"
#include "support.h"

namespace doppel::state_test {
namespace {

using testing::Contains;
using testing::ExitedWithCode;
using testing::HasSubstr;

std::map<std::string, std::string> files_of(const std::string& directory) {
  std::map<std::string, std::string> out;
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    const std::string name = entry.path().filename();
    if (name != "LOCK" && name != "DAMAGED") out[name] = read_file(entry.path());
  }
  return out;
}

struct Break {
  const char* name;
  const char* message;
  std::function<void(StateDir&, Commit&)> make;  // changes a commit that would be valid
};

void make_broken(const std::string& directory, const Model& last, const Break& broken) {
  auto state = StateDir::open(options_of(directory), {});
  const Content content = content_of(3, last.next_seq);
  Commit commit{.lowest_live = last.lowest_live, .documents = last.documents};
  for (Seq i = 0; i < 2; ++i) {
    StoredRow row{.seq = last.next_seq + i};
    row.row.slices = content.slices.data();
    row.row.mask = content.mask.data();
    row.row.body = (*state)->bodies().append({.metadata = "m", .coded_set = "s"}).value();
    commit.rows.push_back(row);
  }
  broken.make(**state, commit);
  (void)(*state)->commit(commit);
}

class BrokenCommit : public testing::TestWithParam<Break> {};

TEST_P(BrokenCommit, EndsTheProcessAndChangesNothing) {
  const TempDir dir;
  Writer writer(3);
  {
    auto state = StateDir::open(options_of(dir.path()), {});
    ASSERT_TRUE(state.ok()) << state.status();
    for (int i = 0; i < 12; ++i) ASSERT_TRUE(writer.commit(**state).ok());
  }
  const Model& last = writer.models().back();
  ASSERT_GT(last.lowest_live, 0u);
  const std::map<std::string, std::string> before = files_of(dir.path());
  EXPECT_EXIT(make_broken(dir.path(), last, GetParam()), ExitedWithCode(kBrokenExitCode), GetParam().message);
  EXPECT_EQ(files_of(dir.path()), before);
  EXPECT_THAT(read_file(dir.file("DAMAGED")), HasSubstr(GetParam().message));

  auto state = StateDir::open(options_of(dir.path()), {});
  ASSERT_TRUE(state.ok()) << state.status();
  EXPECT_THAT((*state)->recovered().notes, Contains(HasSubstr("an invariant was broken: ")));
  EXPECT_THAT((*state)->recovered().notes, Contains(HasSubstr("everything was verified: no damage is left")));
  EXPECT_EQ(difference(**state, 3, last), "");
  EXPECT_FALSE(std::filesystem::exists(dir.file("DAMAGED")));
}

INSTANTIATE_TEST_SUITE_P(
    Contracts, BrokenCommit,
    testing::Values(Break{"Gap", "numbers of committed rows ascend without gaps",
                          [](StateDir&, Commit& c) { ++c.rows[1].seq; }},
                    Break{"NumberAgain", "numbers of committed rows ascend without gaps",
                          [](StateDir&, Commit& c) { --c.rows[0].seq; }},
                    Break{"BodiesOutOfOrder", "bodies have the order of their rows",
                          [](StateDir&, Commit& c) { std::swap(c.rows[0].row.body, c.rows[1].row.body); }},
                    Break{"BodyBehindTheFile", "bodies have the order of their rows",
                          [](StateDir& s, Commit& c) { c.rows[1].row.body.offset = s.bodies().bytes(); }},
                    Break{"LowestLiveGoesBack", "lowest live number never goes back",
                          [](StateDir&, Commit& c) { --c.lowest_live; }},
                    Break{"LowestLiveBeyondTheEnd", "lowest live number never goes back",
                          [](StateDir&, Commit& c) { c.lowest_live = c.rows[1].seq + 2; }},
                    Break{"LiveRowsGivenBack", "rows that live are kept",
                          [](StateDir&, Commit& c) { c.keep_from = c.lowest_live + 1; }},
                    Break{"RemovedBeforeStored", "what a commit removes was stored",
                          [](StateDir&, Commit& c) { c.removed = {c.rows[1].seq + 1}; }},
                    Break{"DocumentsGoBack", "count of judged documents never goes back",
                          [](StateDir&, Commit& c) { --c.documents; }},
                    Break{"NumberingBeginsLate", "numbering begins before the first commit",
                          [](StateDir& s, Commit& c) { (void)s.start_at(c.rows[0].seq + 10); }}),
    [](const auto& each) { return each.param.name; });

TEST(CheckDeathTest, ARowHoldsWhatFits) {
  const HotFormat format(kNumPerm, kMaskWords, Epoch{});
  std::string out;
  StoredRow row;
  row.row.body = {.offset = uint64_t{1} << 40, .size = 1};
  EXPECT_EXIT(format.append(row, out), ExitedWithCode(kBrokenExitCode), "offset and length of a body fit");
  row.row.body = {.offset = 1, .size = 1 << 24};
  EXPECT_EXIT(format.append(row, out), ExitedWithCode(kBrokenExitCode), "offset and length of a body fit");
  row.row.body = {};
  row.row.payload = 1u << kPayloadBits;
  EXPECT_EXIT(format.append(row, out), ExitedWithCode(kBrokenExitCode), "bits of a payload fit");
}

TEST(CheckDeathTest, AJournalHoldsCommitsThatFollowEachOther) {
  const TempDir dir;
  const Identity identity{.data_scheme = "s=1\n", .rule = "r=1\n", .num_perm = 8, .mask_words = 1};
  const auto begin = [&](const CommitRecord& next) {
    return JournalWriter::begin(dir.path(), Epoch{}, identity, {.commits = 4, .next_seq = 9},
                                {encode_commit(next, "")}, 0, false);
  };
  ASSERT_TRUE(begin({.commits = 5, .next_seq = 9}).ok());
  EXPECT_EXIT((void)begin({.commits = 6, .next_seq = 9}), ExitedWithCode(kBrokenExitCode),
              "follow each other");
  EXPECT_EXIT((void)begin({.commits = 5, .next_seq = 8}), ExitedWithCode(kBrokenExitCode),
              "follow each other");
  EXPECT_EXIT((void)begin({.commits = 5, .next_seq = 9, .removed = {7, 3}}), ExitedWithCode(kBrokenExitCode),
              "removed numbers ascend");
  EXPECT_EXIT((void)JournalWriter().append(encode_commit({.commits = 1}, "")),
              ExitedWithCode(kBrokenExitCode), "commits are behind the checkpoint");
}

}  // namespace
}  // namespace doppel::state_test

#include "state/receipts.h"

#include <gmock/gmock.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>

namespace doppel {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
namespace fs = std::filesystem;

class ReceiptsTest : public ::testing::Test {
 protected:
  ReceiptsTest() {
    std::string pattern = (fs::temp_directory_path() / "doppel-receipts-XXXXXX").string();
    directory_ = ::mkdtemp(pattern.data());
  }
  ~ReceiptsTest() override { fs::remove_all(directory_); }

  std::unique_ptr<Receipts> open(uint64_t documents, uint64_t most = Receipts::kMost) {
    notes_.clear();
    auto out = Receipts::open(directory_, epoch_, documents, notes_, most);
    EXPECT_TRUE(out.ok()) << out.status();
    return *std::move(out);
  }
  static Receipts::Receipt answer(uint64_t number, std::string_view id, std::string_view text) {
    return {.number = number, .original = number * 2, .id = id, .digest = {number, 7}, .text = text};
  }
  // "number/original/text", or nothing.
  static std::string found(Receipts& answers, const std::string& id, const Digest& digest) {
    const auto out = answers.find(id, digest);
    EXPECT_TRUE(out.ok()) << out.status();
    if (!out.ok() || !*out) return "";
    const Receipts::Receipt& it = **out;
    return std::to_string(it.number) + "/" + (it.original ? std::to_string(*it.original) : "none") + "/" +
           std::string(it.text);
  }
  std::string file(const char* name = "receipts") const { return (fs::path(directory_) / name).string(); }

  std::string directory_;
  Epoch epoch_{1, 2, 3};
  std::vector<std::string> notes_;
};

TEST_F(ReceiptsTest, AreFoundByIdAndDigest) {
  const auto answers = open(0);
  EXPECT_FALSE(fs::exists(file()));  // nobody needs one yet
  Receipts::Receipt third = answer(2, "c", "third");
  third.original = std::nullopt;
  ASSERT_TRUE(answers->add({answer(0, "a", "first"), answer(1, "b", "second"), third}, true).ok());
  EXPECT_EQ(found(*answers, "a", {0, 7}), "0/0/first");
  EXPECT_EQ(found(*answers, "b", {1, 7}), "1/2/second");
  EXPECT_EQ(found(*answers, "c", {2, 7}), "2/none/third");
  EXPECT_EQ(found(*answers, "a", {1, 7}), "");  // another text
  EXPECT_EQ(found(*answers, "d", {0, 7}), "");
  // The newest counts.
  Receipts::Receipt again = answer(3, "a", "anew");
  again.digest = {0, 7};
  ASSERT_TRUE(answers->add({again}, false).ok());
  EXPECT_EQ(found(*answers, "a", {0, 7}), "3/6/anew");
}

TEST_F(ReceiptsTest, ThoseOfDocumentsThatWereNotCommittedAreCutOff) {
  {
    const auto answers = open(0);
    ASSERT_TRUE(answers->add({answer(0, "a", "first"), answer(4, "b", "second")}, false).ok());
    ASSERT_TRUE(answers->add({answer(5, "c", "third")}, false).ok());
  }
  {
    const auto answers = open(5);
    EXPECT_THAT(notes_, IsEmpty());
    EXPECT_EQ(found(*answers, "b", {4, 7}), "4/8/second");
    EXPECT_EQ(found(*answers, "c", {5, 7}), "");
    ASSERT_TRUE(answers->add({answer(5, "d", "instead")}, false).ok());
  }
  const auto answers = open(6);
  EXPECT_EQ(found(*answers, "d", {5, 7}), "5/10/instead");
  EXPECT_EQ(found(*answers, "c", {5, 7}), "");
}

TEST_F(ReceiptsTest, OldOnesGoWhenThereAreTooMany) {
  const auto check = [](Receipts& answers, uint64_t from, uint64_t to) {
    for (uint64_t i = 0; i < to; ++i) {
      EXPECT_EQ(found(answers, "d" + std::to_string(i), {i, 7}).empty(), i < from) << i << " of " << to;
    }
  };
  const auto answers = open(0, 10);
  for (uint64_t i = 0; i < 35; ++i) {
    ASSERT_TRUE(answers->add({answer(i, "d" + std::to_string(i), "text")}, false).ok());
    const uint64_t full = (i / 10) * 10;
    check(*answers, full == 0 ? 0 : full - 10, i + 1);
  }
  check(*open(35, 10), 20, 35);
}

// Whatever byte is wrong: an answer is the one that was given, or there is none and a note says why.
TEST_F(ReceiptsTest, DamageGivesNoWrongAnswer) {
  std::map<std::string, std::string> given;
  {
    const auto answers = open(0);
    for (uint64_t i = 0; i < 20; ++i) {
      const std::string id = "d" + std::to_string(i);
      ASSERT_TRUE(answers->add({answer(i, id, "the answer to " + id)}, false).ok());
      given[id] = found(*answers, id, {i, 7});
    }
  }
  std::ifstream in(file(), std::ios::binary);
  const std::string good((std::istreambuf_iterator<char>(in)), {});
  const auto seed = std::random_device()();
  std::mt19937 rng(seed);
  SCOPED_TRACE("seed " + std::to_string(seed));
  for (int round = 0; round < 200; ++round) {
    std::string bad = good;
    if (round % 4 == 0) {
      bad.resize(rng() % bad.size());
    } else {
      bad[rng() % bad.size()] ^= static_cast<char>(1 + rng() % 255);
    }
    std::ofstream(file(), std::ios::binary) << bad;
    fs::remove(file("receipts.damaged"));
    const auto answers = open(20);
    uint64_t missing = 0;
    for (uint64_t i = 0; i < 20; ++i) {
      const std::string id = "d" + std::to_string(i);
      const std::string now = found(*answers, id, {i, 7});
      missing += now.empty() ? 1 : 0;
      EXPECT_TRUE(now.empty() || now == given[id]) << now;
    }
    const bool cut_between = round % 4 == 0 && notes_.empty();
    if (missing > 0 && !cut_between) {
      EXPECT_THAT(notes_, ElementsAre(HasSubstr("may be judged again")));
    }
    EXPECT_TRUE(missing > 0 || round % 4 == 0);
    ASSERT_TRUE(answers->add({answer(20, "new", "text")}, false).ok());
    EXPECT_EQ(found(*answers, "new", {20, 7}), "20/40/text");
  }
}

// A file that is damaged while it is used.
TEST_F(ReceiptsTest, DamageIsNoticedWhenAnAnswerIsRead) {
  const auto answers = open(0);
  ASSERT_TRUE(answers->add({answer(0, "a", "first")}, false).ok());
  std::fstream out(file(), std::ios::binary | std::ios::in | std::ios::out);
  out.seekp(-2, std::ios::end);
  out << 'X';
  out.close();
  EXPECT_THAT(answers->find("a", {0, 7}).status().ToString(), HasSubstr("receipts: damaged at byte 48"));
}

TEST_F(ReceiptsTest, ThoseOfAnotherIndexAreSetAside) {
  ASSERT_TRUE(open(0)->add({answer(0, "a", "first")}, false).ok());
  epoch_[0] = 9;
  const auto answers = open(1);
  EXPECT_THAT(notes_, ElementsAre(HasSubstr("belongs to another index; it is now ")));
  EXPECT_TRUE(fs::exists(file("receipts.damaged")));
  EXPECT_EQ(found(*answers, "a", {0, 7}), "");
}

}  // namespace
}  // namespace doppel

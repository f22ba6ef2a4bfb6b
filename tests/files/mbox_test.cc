// mbox files: where messages begin, against random files whose messages are known, and how files are read.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <random>

#include "files/tables_testing.h"
#include "formats/mail/mail.h"

namespace doppel {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::string_view kFirst = "From a@b.example Mon May  6 07:08:09 2024\nSubject: one\n\n";

TEST(Mbox, ALineThatBeginsAMessageHasADate) {
  for (const std::string_view line :
       {"From a@b Mon May  6 07:08:09 2024", "From - Mon May 06 07:08:09 2024\r",
        "From MAILER-DAEMON Fri Jul  8 7:08 2011", "From user at example.com  Mon Jan  1 10:00:00 2001",
        "From 12@xxx Mon Sep 24 12:00:00 +0000 2018",
        "From ??? Mon May  6 07:08:09 CEST 2024 remote from there"})
    EXPECT_TRUE(begins_message(line)) << line;
  for (const std::string_view line :
       {"From May 6 2024 on, we meet at 7:08", "From here to there", "From",
        ">From a@b Mon May  6 07:08:09 2024", "From a@b Mon May  6 07:08:09",
        "from a@b Mon May  6 07:08:09 2024", "From: a@b Mon May  6 07:08:09 2024"})
    EXPECT_FALSE(begins_message(line)) << line;
  EXPECT_TRUE(begins_mbox("\n" + std::string(kFirst)));
  EXPECT_FALSE(begins_mbox("From a@b Mon May  6 07:08:09 2024\nand then: we went home\n"));
  EXPECT_FALSE(begins_mbox("From a@b Mon May  6 07:08:09 2024"));
}

class MboxFile : public ::testing::Test {
 protected:
  Taken read(const std::string& bytes, const std::string& name = "a.mbox", const std::string& position = {}) {
    write_file(dir_ / name, bytes);
    return take_all(of(dir_ / name), position);
  }
  TemporaryDirectory dir_;
};

TEST_F(MboxFile, EachMessageIsARecord) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE(fmt::format("seed {}", seed));
  std::mt19937 random(seed);
  for (int round = 0; round < 100; ++round) {
    std::vector<InputLine> messages;
    std::string file;
    uint64_t line = 1;
    for (size_t n = 1 + random() % 8; n > 0; --n) {
      std::string message = "From a@b Mon May  6 07:08:09 2024\nSubject: x\n\n";
      for (size_t lines = random() % 6; lines > 0; --lines) {
        const std::string_view texts[] = {"", "From here on", ">From a@b Mon May  6 07:08:09 2024", "words",
                                          "From "};
        message += texts[random() % std::size(texts)];
        if (random() % 20 == 0) message += std::string(random() % 600'000, 'x');
        message += '\n';
      }
      messages.push_back({message, file.size(), line});
      file += message + '\n';
      line += static_cast<uint64_t>(std::count(message.begin(), message.end(), '\n')) + 1;
    }
    if (random() % 2 == 0) {  // the last one ends without an empty line
      file.pop_back();
      messages.back().value.pop_back();
    }
    const std::string name = fmt::format("{}.mbox", round);
    EXPECT_EQ(read(file, name).lines, messages);
    EXPECT_EQ(read(gz(file), name + ".gz").lines, messages);
    EXPECT_EQ(read(file, "mail-" + std::to_string(round)).lines, messages) << "known by its content";
    // Small batches give the same, and each position continues where its batch ended.
    write_file(dir_ / name, file);
    FilesSourceOptions options = of(dir_ / name);
    options.batch_records = 1 + random() % 3;
    options.batch_bytes = 1000;
    options.buffer_bytes = 100;
    const Taken taken = take_all(options);
    EXPECT_EQ(taken.lines, messages);
    for (size_t i = 0; i < taken.positions.size(); ++i) {
      const Taken rest = take_all(options, taken.positions[i]);
      EXPECT_EQ(rest.lines, std::vector<InputLine>(messages.begin() + static_cast<ptrdiff_t>(taken.counts[i]),
                                                   messages.end()));
    }
  }
}

TEST_F(MboxFile, AFileThatIsNoMboxIsRefusedByName) {
  EXPECT_THAT(messages_of(read("Dear all,\nFrom now on\n")), ElementsAre(HasSubstr("not an mbox file")));
  EXPECT_THAT(read("").problems, IsEmpty());
}

TEST_F(MboxFile, AGrownFileContinues) {
  const std::string begins = std::string(kFirst) + "text\n\n";
  const Taken first = read(begins);
  EXPECT_THAT(read(begins, "a.mbox", first.positions.back()).lines, IsEmpty());
  EXPECT_THAT(values_of(read(begins + std::string(kFirst) + "more\n", "a.mbox", first.positions.back())),
              ElementsAre(AllOf(HasSubstr("more"), testing::Not(HasSubstr("text")))));
}

// Wherever a file ended, the next run reads the message that has become longer, and no other one again.
TEST_F(MboxFile, AFileThatEndedWithinAMessageContinuesThere) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE(fmt::format("seed {}", seed));
  std::mt19937 random(seed);
  const auto trimmed = [](Taken taken) {
    for (InputLine& line : taken.lines) line.value.resize(line.value.find_last_not_of('\n') + 1);
    return taken.lines;
  };
  for (int round = 0; round < 200; ++round) {
    std::string text;
    for (size_t n = 1 + random() % 4; n > 0; --n) {
      text += fmt::format("From a@b.example Mon May  6 07:08:09 2024\nSubject: {}\n\n", n);
      for (size_t lines = random() % 4; lines > 0; --lines)
        text += random() % 3 == 0 ? "\n" : fmt::format("words {}\n", random() % 100);
      text += '\n';
    }
    const std::string name = fmt::format("{}.mbox", round);
    const std::vector<InputLine> fresh = trimmed(read(text, "fresh-" + name));
    FilesSourceOptions options = of(dir_ / name);
    options.batch_records = 1 + random() % 3;
    // The first message has its headers, or the file is none.
    const size_t first = text.find("Subject") + 12, cut = first + random() % (text.size() - first);
    std::string position;
    std::vector<InputLine> all;
    for (const size_t size : {cut, cut, text.size(), text.size()}) {
      write_file(dir_ / name, text.substr(0, size));
      const bool again = size == cut && !position.empty();
      const Taken taken = take_all(options, position);
      if (again) {
        EXPECT_THAT(taken.lines, IsEmpty());
      }
      EXPECT_THAT(taken.problems, IsEmpty());
      if (!taken.positions.empty()) position = taken.positions.back();
      for (const InputLine& line : trimmed(taken)) {
        if (size != cut) {
          EXPECT_EQ(std::ranges::count(fresh, line), 1) << line.value << cut;
        }
        EXPECT_EQ(std::ranges::count(all, line), 0) << line.value << cut;
        all.push_back(line);
      }
    }
    for (const InputLine& line : fresh) EXPECT_EQ(std::ranges::count(all, line), 1) << text << cut;
  }
}

TEST_F(MboxFile, AMessageThatIsTooLongCostsItself) {
  FilesSourceOptions options = of(dir_ / "a.mbox");
  options.max_line_bytes = 10'000;
  options.buffer_bytes = 1000;
  for (const std::string& text : {std::string(50'000, 'x') + "\n", std::string(50'000, '\n')}) {
    write_file(dir_ / "a.mbox", std::string(kFirst) + "first\n\n" + std::string(kFirst) + text +
                                    std::string(kFirst) + "third\n");
    const Taken taken = take_all(options);
    EXPECT_THAT(values_of(taken), ElementsAre(HasSubstr("first"), HasSubstr("third")));
    EXPECT_THAT(messages_of(taken),
                ElementsAre(AllOf(HasSubstr("line 6, byte "), HasSubstr("a message of "))));
  }
}

TEST_F(MboxFile, DamagedDataLosesTheOpenMessage) {
  std::mt19937 random(1);  // what can be packed well would be lost as a whole
  std::string noise;
  while (noise.size() < 100'000) noise += static_cast<char>('a' + random() % 26);
  std::string packed = gz(std::string(kFirst) + "first\n\n" + std::string(kFirst) + noise + "\n");
  packed.resize(packed.size() - 20);
  const Taken taken = read(packed, "a.mbox.gz");
  EXPECT_THAT(values_of(taken), ElementsAre(HasSubstr("first")));
  EXPECT_THAT(taken.problems, testing::SizeIs(1));
}

}  // namespace
}  // namespace doppel

// Arrow files that are damaged, contain false statements, or use features that doppel does not read.
// tables_test.cc reads the valid ones.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <map>
#include <random>

#include "files/tables_testing.h"

namespace doppel {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const std::string kData = DOPPEL_SOURCE_DIR "/tests/files/data/arrow/";

std::vector<std::string> problems_with(const std::string& path, const FormatOptions& format = {}) {
  return messages_of(take_all(of(path, format)));
}

TEST(ArrowColumns, WhatIsNotReadIsRefusedByName) {
  const std::map<std::string, std::string> wanted{{"tags", "a list"},
                                                  {"views", "a list"},
                                                  {"three", "a list"},
                                                  {"meta", "a structure of several columns"},
                                                  {"either", "of several types"},
                                                  {"map", "a map"},
                                                  {"runs", "of an unknown type"}};
  for (const auto& [column, why] : wanted) {
    FormatOptions format;
    format.scope_fields = {column};
    EXPECT_THAT(
        problems_with(kData + "nested_beside.arrow", format),
        ElementsAre(HasSubstr(fmt::format("column \"{}\", which input.scope names, is {}", column, why))));
  }
  FormatOptions format;
  format.text_fields = {"txt"};
  EXPECT_THAT(problems_with(kData + "file_none.arrow", format),
              ElementsAre(HasSubstr("no column \"txt\", which input.text names (did you mean text?)")));
}

TEST(ArrowDamage, WhatIsNoWholeFileSaysWhatItIs) {
  TemporaryDirectory d;
  const std::string whole = read_back(kData + "file_none.arrow");
  const std::string stream = read_back(kData + "stream_none.arrow");
  std::string no_schema = stream;
  no_schema.replace(8, 4, "\xff\xff\xff\x7f");
  const std::vector<std::array<std::string, 3>> cases{
      {"cut.arrow", whole.substr(0, whole.size() / 2), "its footer is missing"},
      {"tiny.feather", whole.substr(0, 8), "its footer is missing"},
      {"cut_stream.arrow", stream.substr(0, 100), "the file ends too early"},
      {"schema.arrow", no_schema, "byte 0: the message is damaged"},
      {"old.feather", "FEA1 and so on", "a Feather file of version 1, which is not read"},
      {"packed.arrow.gz", gz(whole), "a packed Arrow file; unpack it"},
      {"packed.arrow", zst(whole), "a packed Arrow file; unpack it"}};
  for (const auto& [name, bytes, message] : cases) {
    write_file(d / name, bytes);
    const Taken taken = take_all(of(d / name));
    EXPECT_THAT(taken.lines, IsEmpty()) << name;
    EXPECT_THAT(messages_of(taken), ElementsAre(AllOf(HasSubstr(name), HasSubstr(message))));
  }
  const Taken taken = take_all(FilesSourceOptions{.paths = {kData + "float.arrow"}});
  EXPECT_THAT(messages_of(taken), ElementsAre(HasSubstr("an Arrow file, which only scan, sign, tune and")));
}

// The rows before the cut of a stream are handed out, and the message names the batch.
TEST(ArrowDamage, ACutStreamGivesWhatIsWhole) {
  TemporaryDirectory d;
  const std::string stream = read_back(kData + "stream_none.arrow");
  const Taken all = take_all(of(kData + "stream_none.arrow"));
  std::vector<size_t> seen;
  for (size_t size = 1100; size < stream.size() - 8; size += 97) {
    write_file(d / "x.arrow", stream.substr(0, size));
    const Taken taken = take_all(of(d / "x.arrow"));
    EXPECT_THAT(messages_of(taken), ElementsAre(HasSubstr("the file ends too early"))) << size;
    ASSERT_LE(taken.lines.size(), all.lines.size());
    for (size_t i = 0; i < taken.lines.size(); ++i) EXPECT_EQ(taken.lines[i], all.lines[i]);
    seen.push_back(taken.lines.size());
    // It is not read again.
    EXPECT_THAT(take_all(of(d / "x.arrow"), taken.positions.back()).problems, IsEmpty());
  }
  EXPECT_THAT(seen, testing::Contains(25));
  EXPECT_THAT(seen, testing::Contains(50));
}

// Any byte may be wrong: reading must end, and give rows of JSON and messages.
TEST(ArrowDamage, AnyByteMayBeWrong) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE(fmt::format("seed {}", seed));
  std::mt19937 random(seed);
  TemporaryDirectory d;
  size_t refused = 0;
  for (const char* name :
       {"file_lz4", "stream_zstd", "views_none", "dictionaries", "nested_beside", "polars"}) {
    const std::string whole = read_back(kData + name + ".arrow");
    for (int i = 0; i < 300; ++i) {
      std::string bytes = whole;
      for (unsigned n = 1 + random() % 3; n > 0; --n)
        bytes[8 + random() % (bytes.size() - 8)] ^= 1 << random() % 8;
      write_file(d / "x.arrow", bytes);
      const Taken taken = take_all(of(d / "x.arrow"));
      EXPECT_LE(taken.problems.size(), 6u);  // one for each batch
      EXPECT_LE(taken.lines.size(), 60u);
      refused += taken.problems.size();
    }
  }
  EXPECT_GT(refused, 50u);
}

// Unknown versions of the metadata, in each place that states one.
TEST(ArrowDamage, AFutureVersionIsRefused) {
  TemporaryDirectory d;
  for (const char* name : {"file_none.arrow", "stream_none.arrow"}) {
    const std::string whole = read_back(kData + name);
    size_t refused = 0;
    for (size_t at = 8; at + 1 < whole.size(); ++at) {
      if (whole[at] != 4 || whole[at + 1] != 0) continue;
      std::string bytes = whole;
      bytes[at] = 5;
      write_file(d / name, bytes);
      for (const std::string& message : messages_of(take_all(of(d / name))))
        refused +=
            message.find("its metadata has version V6; V4 and V5 are read") != std::string::npos ? 1 : 0;
    }
    EXPECT_GT(refused, 2u) << name;
  }
}

// Damage costs its batch; the other batches are read.
TEST(ArrowDamage, ABatchIsLostAndTheNextOneIsRead) {
  TemporaryDirectory d;
  const std::string whole = read_back(kData + "file_lz4.arrow");
  size_t went_on = 0;
  for (size_t at = 1200; at + 1500 < whole.size(); at += 41) {
    std::string bytes = whole;
    bytes[at] = static_cast<char>(bytes[at] ^ 0x55);
    write_file(d / "x.arrow", bytes);
    const Taken taken = take_all(of(d / "x.arrow"));
    if (taken.problems.size() == 1 && !taken.lines.empty() && taken.lines.back().offset == 59) {
      EXPECT_THAT(messages_of(taken), ElementsAre(AllOf(HasSubstr("batch "), HasSubstr(" not read"))));
      ++went_on;
    }
  }
  EXPECT_GT(went_on, 5u);
}

TEST(ArrowSigned, AColumnHoldsSignedRecords) {
  FilesSourceOptions options = of(kData + "binary.arrow");
  options.columns->format = "signed";
  EXPECT_THAT(messages_of(take_all(options)),
              ElementsAre(HasSubstr("no column \"signed_record\", which input.format: signed names")));
}

}  // namespace
}  // namespace doppel

// What scan does with files that are no documents, and which of equal files it keeps.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>

#include "commands/run_doppel.h"
#include "packed.h"
#include "zipped.h"

namespace doppel {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::Ran;
using testing::read_file;
using testing::run_doppel;
using testing::TempDir;
using testing::write_file;
namespace fs = testing::fs;
using namespace std::string_literals;

std::string words(int from, int to) {
  std::string out;
  for (int i = from; i < to; ++i) out += (i == from ? "word" : " word") + std::to_string(i);
  return out;
}

TEST(KeepFiles, OldestAndNewestAreByTheTimesOfFiles) {
  TempDir dir;
  const auto now = fs::file_time_type::clock::now();
  const auto file = [&](const std::string& name, const std::string& text, int hours) {
    write_file(dir / ("in/" + name), text);
    fs::last_write_time(dir / ("in/" + name), now - std::chrono::hours(hours));
  };
  file("a.txt", words(0, 100), 10);
  file("b.txt", words(0, 100), 30);
  file("c.txt", words(0, 100), 1);
  file("d.txt", words(500, 600), 5);
  // Read in pieces.
  std::string large;
  for (int i = 0; large.size() < (17u << 20); ++i) large += "w" + std::to_string(i) + " ";
  file("l1.txt", large, 10);
  file("l2.txt", large, 30);
  const auto kept = [&](const std::string& best) {
    const std::string to = dir / best;
    const Ran ran = run_doppel("scan -q -o " + (dir / "out") + " --best " + best + " --keep-files " + to +
                               " " + (dir / "in"));
    EXPECT_EQ(ran.code, 0) << ran.err;
    std::string names;
    for (const char* name : {"a", "b", "c", "d", "l1", "l2"})
      if (fs::exists(to + (dir / ("in/"s + name + ".txt")))) names += name + " "s;
    return names;
  };
  EXPECT_EQ(kept("oldest"), "b d l2 ");
  EXPECT_EQ(kept("newest"), "c d l1 ");
}

TEST(KeepFiles, DocumentsOfOfficeAreRefusedByTheirNameAndTheCommandThatConvertsThem) {
  const auto first = [](const std::string& type) {
    return zipped({{"mimetype", type}, {"content.xml", "<a/>"}});
  };
  const struct {
    std::string bytes, what, command;
  } cases[] = {
      {zipped({{"[Content_Types].xml", "<Types/>"}, {"_rels/.rels", ""}, {"word/document.xml", "<w/>"}}),
       "DOCX", "pandoc -f docx"},
      {zipped({{"_rels/.rels", ""}, {"docProps/app.xml", ""}, {"word/_rels/document.xml.rels", ""}}), "DOCX",
       "pandoc -f docx"},
      {zipped({{"[Content_Types].xml", "<Types/>"}, {"_rels/.rels", ""}, {"xl/workbook.xml", "<w/>"}}),
       "Excel", "CSV"},
      {first("application/vnd.oasis.opendocument.text"), "ODT", "pandoc -f odt"},
      {first("application/epub+zip"), "EPUB", "pandoc -f epub"},
      {zipped({{"password/word/a.txt", "text"}}), "ZIP", "unpack"},
      {"{\\rtf1\\ansi one two}", "RTF", "pandoc -f rtf"},
  };
  for (const auto& [bytes, what, command] : cases) {
    TempDir dir;
    write_file(dir / "in/a", bytes);
    write_file(dir / "in/b.txt", words(0, 100));
    const Ran ran = run_doppel("scan " + (dir / "in"));
    EXPECT_EQ(ran.code, 1);
    EXPECT_THAT(ran.err, AllOf(HasSubstr(what), HasSubstr(command))) << what;
  }
}

TEST(KeepFiles, AMissingTextFieldNamesTheFieldsThatAreThere) {
  TempDir dir;
  write_file(dir / "in.jsonl", R"({"id":1,"article":"one two","lang":"en"})"
                               "\n");
  const Ran ran = run_doppel("scan " + (dir / "in.jsonl"));
  EXPECT_EQ(ran.code, 1);
  EXPECT_THAT(ran.err,
              AllOf(HasSubstr(R"(the fields are "id", "article", "lang")"), HasSubstr("--text-field")));
}

}  // namespace
}  // namespace doppel

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

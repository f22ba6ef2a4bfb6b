// CSV and TSV: how rows are found in the text, against a writer of random tables, and how files are read.
#include "files/csv/csv_rows.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <random>

#include "files/tables_testing.h"

namespace doppel {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

using Table = std::vector<std::vector<std::string>>;

std::string in_quotes(const std::string& field) {
  std::string out = "\"";
  for (const char c : field) out.append(c == '"' ? 2 : 1, c);
  return out + '"';
}

// The slow, obvious way: the fields of each row, found by parse_row() in the whole text.
Table parsed(std::string_view text, char separator) {
  Table out;
  csv::Row row;
  while (!text.empty()) {
    EXPECT_EQ(csv::parse_row(text, separator, true, row), csv::Parsed::row);
    out.emplace_back(row.fields.begin(), row.fields.end());
    EXPECT_GT(row.end, 0u);
    text.remove_prefix(row.end);
  }
  return out;
}

TEST(Csv, WhatIsWrittenIsRead) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE(fmt::format("seed {}", seed));
  std::mt19937 random(seed);
  const std::string alphabet = "ab,;\t|\"\n\r x\xc3\xa9";
  for (int round = 0; round < 500; ++round) {
    const char separator = ",;\t|"[random() % 4];
    const std::string line_end = random() % 2 == 0 ? "\n" : "\r\n";
    Table table(1 + random() % 6, std::vector<std::string>(2 + random() % 4));
    std::string text;
    for (std::vector<std::string>& row : table) {
      for (std::string& field : row) {
        for (size_t n = random() % 9; n > 0; --n) field += alphabet[random() % alphabet.size()];
        const bool must = field.find_first_of("\"\n\r") != field.npos || field.find(separator) != field.npos;
        text += must || random() % 4 == 0 ? in_quotes(field) : field;
        text += separator;
      }
      text.pop_back();
      text += line_end;
    }
    if (random() % 2 == 0) text.resize(text.size() - line_end.size());  // the last line may have no end
    ASSERT_EQ(parsed(text, separator), table) << text;
    // Each beginning of the text wants more, or gives the first row.
    csv::Row whole, row;
    ASSERT_EQ(csv::parse_row(text, separator, true, whole), csv::Parsed::row);
    for (size_t size = 0; size < text.size(); ++size) {
      const csv::Parsed found = csv::parse_row(std::string_view(text).substr(0, size), separator, false, row);
      if (found == csv::Parsed::wants_more) continue;
      ASSERT_EQ(found, csv::Parsed::row) << text << size;
      ASSERT_EQ(row.end, whole.end) << text << size;
      ASSERT_EQ(row.fields, whole.fields) << text << size;
    }
  }
}

TEST(Csv, TheHeaderShowsTheSeparator) {
  EXPECT_EQ(csv::separator_of("id,text\n"), ',');
  EXPECT_EQ(csv::separator_of("id;text;a,b\n,,,,"), ';');
  EXPECT_EQ(csv::separator_of("id\ttext"), '\t');
  EXPECT_EQ(csv::separator_of("\"a;b;c\",text"), ',');
  EXPECT_EQ(csv::separator_of("text"), ',');
}

class CsvFile : public ::testing::Test {
 protected:
  Taken read(const std::string& bytes, const std::string& name = "a.csv", const std::string& position = {}) {
    write_file(dir_ / name, bytes);
    return take_all(of(dir_ / name), position);
  }
  TemporaryDirectory dir_;
};

TEST_F(CsvFile, RowsBecomeObjects) {
  const std::string text = "\xef\xbb\xbfid,text,other\r\n1,\"one, \"\"two\"\"\r\nthree\",x\r\n\r\n2,four\r\n";
  const std::vector<std::string> rows{R"({"id":"1","text":"one, \"two\"\r\nthree"})",
                                      R"({"id":"2","text":"four"})"};
  EXPECT_EQ(values_of(read(text)), rows);
  EXPECT_EQ(values_of(read(gz(text), "a.csv.gz")), rows);
  EXPECT_EQ(values_of(read(zst(text), "a.CSV.zst")), rows);
  EXPECT_EQ(values_of(read("id\ttext\n1\ta,b;c\n", "a.tsv")),
            std::vector<std::string>{R"({"id":"1","text":"a,b;c"})"});
}

TEST_F(CsvFile, AWrongRowCostsItselfOnly) {
  write_file(dir_ / "a.csv",
             "id,text\n1,one\n2,\"two\" b\n3,\"a \"\"three\n4,four\n5,x,y\n6,five\r\n7,\"six\r\n8,seven\n");
  const std::unique_ptr<Source> source = must_open(of(dir_ / "a.csv"));
  std::vector<std::string> rows, damage;
  Batch batch;
  while (*source->next(batch)) {
    EXPECT_THAT(batch.problems, IsEmpty());
    for (const Record& record : batch.records) {
      EXPECT_EQ(record.offset, rows.size());
      rows.emplace_back(record.value);
      damage.emplace_back(record.damage);
    }
  }
  EXPECT_THAT(rows, ElementsAre(HasSubstr("one"), "2,\"two\" b", "3,\"a \"\"three", HasSubstr("four"),
                                "5,x,y", HasSubstr("five"), "7,\"six", HasSubstr("seven")));
  EXPECT_THAT(damage,
              ElementsAre("", HasSubstr("line 3: a quotation mark"), HasSubstr("line 4: a quotation mark"),
                          "", HasSubstr("line 6: 3 fields, but the header has 2"), "",
                          HasSubstr("line 8: a quotation mark"), ""));
}

TEST_F(CsvFile, WhatIsMissingIsNamed) {
  EXPECT_THAT(messages_of(read("")), ElementsAre(HasSubstr("it has no header")));
  EXPECT_THAT(messages_of(read("id,article\n1,one\n")), ElementsAre(HasSubstr("article")));
  EXPECT_THAT(messages_of(read("text,text\n1,one\n")), ElementsAre(HasSubstr("two columns \"text\"")));
  EXPECT_THAT(messages_of(read("text\n\xff\xd8\xff\xe0" + std::string(40, '\1'))),
              ElementsAre(HasSubstr("control characters")));
}

TEST_F(CsvFile, AGrownFileContinues) {
  const std::string begins = "id,text\n1,one\n2,\"wrong\" x\n3,three\n";
  const Taken first = read(begins);
  EXPECT_THAT(first.lines, SizeIs(3));
  EXPECT_THAT(read(begins, "a.csv", first.positions.back()).lines, IsEmpty());
  EXPECT_THAT(values_of(read(begins + "4,four\n", "a.csv", first.positions.back())),
              ElementsAre(HasSubstr("four")));
}

// Wherever a file ended, the next run reads what has become longer, and nothing else again.
TEST_F(CsvFile, AFileThatEndedWithinARowContinuesThere) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE(fmt::format("seed {}", seed));
  std::mt19937 random(seed);
  const std::string_view kPieces[] = {"alpha", ",\n", "\n\n", "\"\"", " ", "\nbeta,\"\"gamma\"\"\n", "\r\n"};
  for (int round = 0; round < 300; ++round) {
    std::string text = "id,text\n";
    const size_t header = text.size();
    for (size_t row = 0, rows = 1 + random() % 6; row < rows; ++row) {
      text += fmt::format("{},", row);
      if (random() % 3 == 0) {
        text += "plain" + std::to_string(random() % 100);
        if (random() % 8 == 0) text += ",too,many";
      } else {
        text += "\"t";  // what is cut off shows
        for (size_t n = random() % 5; n > 0; --n) text += kPieces[random() % std::size(kPieces)];
        text += '"';
      }
      text += random() % 2 == 0 ? "\n" : "\r\n";
    }
    const std::string name = fmt::format("{}.csv", round);
    const Taken fresh = read(text, "fresh-" + name);
    FilesSourceOptions options = of(dir_ / name);
    options.batch_records = 1 + random() % 3;
    std::string position;
    std::vector<InputLine> before;
    const size_t cut = header + random() % (text.size() - header);
    for (const std::string& bytes : {text.substr(0, cut), text.substr(0, cut), text, text}) {
      write_file(dir_ / name, bytes);
      const Taken taken = take_all(options, position);
      if (bytes.size() == cut && !position.empty()) {
        EXPECT_THAT(taken.lines, IsEmpty());
      }
      if (!taken.positions.empty()) position = taken.positions.back();
      if (bytes.size() == cut) {
        before.insert(before.end(), taken.lines.begin(), taken.lines.end());
        continue;
      }
      for (const InputLine& line : taken.lines) {
        EXPECT_TRUE(std::ranges::count(fresh.lines, line) == 1) << line.value << text << "|" << cut;
        EXPECT_TRUE(std::ranges::count(before, line) == 0) << line.value << text << "|" << cut;
      }
      before.insert(before.end(), taken.lines.begin(), taken.lines.end());
    }
    for (const InputLine& line : fresh.lines)
      EXPECT_TRUE(std::ranges::count(before, line) == 1) << line.value << text << "|" << cut;
  }
}

// Rows that are longer than what is read at a time.
TEST_F(CsvFile, LongRows) {
  std::string text = "id,text\n";
  for (int i = 0; i < 9; ++i)
    text += fmt::format("{},\"{}\n\"\n", i, std::string(100'000 * static_cast<size_t>(i), 'a' + i));
  const Taken taken = read(text);
  ASSERT_THAT(taken.lines, SizeIs(9));
  for (size_t i = 0; i < 9; ++i)
    EXPECT_EQ(taken.lines[i].value.size(), std::string(R"({"id":"0","text":"\n"})").size() + 100'000 * i);
}

}  // namespace
}  // namespace doppel

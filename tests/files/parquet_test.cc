// Parquet files of several writers, against the rows that were written (tools/make-parquet-fixtures).
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <cstdio>
#include <map>

#include "files/parquet_writer.h"
#include "files/tables_testing.h"
#include "formats/decoder.h"

namespace doppel {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

const std::string kData = DOPPEL_SOURCE_DIR "/tests/files/data/parquet/";

TEST(ParquetReading, BatchesAreBoundedByBytes) {
  FilesSourceOptions options = of(kData + "codec_zstd_v1.parquet");
  options.batch_bytes = 500;
  std::unique_ptr<Source> source = must_open(options);
  Batch batch;
  size_t rows = 0, batches = 0;
  while (*source->next(batch)) {
    EXPECT_TRUE(batch.bytes <= 500 || batch.records.size() == 1);
    rows += batch.records.size();
    ++batches;
  }
  EXPECT_EQ(rows, 60u);
  EXPECT_GT(batches, 20u);
  EXPECT_EQ(source->bytes_read(), source->bytes_total());
}

TEST(ParquetReading, ALongRowIsSkippedAndNamed) {
  FilesSourceOptions options = of(kData + "codec_zstd_v1.parquet");
  options.max_line_bytes = 200;
  const Taken taken = take_all(options);
  std::vector<std::string> wanted;
  for (const std::string& line : lines_of(kData + "codec_zstd_v1.jsonl")) {
    if (line.size() <= 200) wanted.push_back(line);
  }
  EXPECT_EQ(values_of(taken), wanted);
  ASSERT_EQ(taken.lines.size() + taken.problems.size(), 60u);
  EXPECT_THAT(taken.problems[0].message, HasSubstr("codec_zstd_v1.parquet: row 4: 225 "));
  EXPECT_THAT(taken.problems[0].message, HasSubstr("bytes, more than the 200 that are allowed; skipped"));
  // The remaining rows are not requested again.
  EXPECT_THAT(take_all(options, taken.positions.back()).lines, IsEmpty());
}

TEST(ParquetReading, DirectoriesAreReadInTheOrderOfTheirNames) {
  TemporaryDirectory d;
  for (const char* name : {"part-1.parquet", "part-0.snappy.parquet"})
    write_file(d / name, read_back(kData + "codec_snappy_v1.parquet"));
  write_file(d / "part-2.jsonl", read_back(kData + "codec_snappy_v1.jsonl"));
  write_file(d / "_SUCCESS", "");
  write_file(d / "_metadata", "PAR1....PAR1");
  write_file(d / "_common_metadata", "PAR1....PAR1");
  write_file(d / "no name of its own", read_back(kData + "codec_snappy_v1.parquet"));
  const Taken taken = take_all(of(d.path()));
  EXPECT_THAT(messages_of(taken), IsEmpty());
  EXPECT_THAT(taken.lines, SizeIs(4 * 60));
  EXPECT_THAT(taken.sources[0], HasSubstr("no name of its own"));
  EXPECT_THAT(taken.sources[60], HasSubstr("part-0.snappy.parquet"));
}

// --- Which columns are read.

std::vector<std::string> problems_with(const std::string& path, const FormatOptions& format) {
  const Taken taken = take_all(of(path, format));
  EXPECT_THAT(taken.lines, IsEmpty());
  return messages_of(taken);
}

TEST(ParquetColumns, AMissingOneIsNamedWithTheNearest) {
  FormatOptions format;
  format.text_fields = {"txt"};
  EXPECT_THAT(problems_with(kData + "uuid.parquet", format),
              ElementsAre(HasSubstr("uuid.parquet: no column \"txt\", which input.text names (did you mean "
                                    "text?); the columns are: id, text, url, date")));
  format = {};
  format.id_fields = {"doc_id", "document"};
  EXPECT_THAT(problems_with(kData + "uuid.parquet", format),
              ElementsAre(HasSubstr("no column \"doc_id\" or \"document\", which input.id names")));
  format = {};
  format.tag_fields = {"crawl=crawl_id", "u=url"};
  EXPECT_THAT(problems_with(kData + "uuid.parquet", format),
              ElementsAre(HasSubstr("no column \"crawl_id\", which input.tags names")));
  format = {};
  format.text_fields = {"/text/0"};
  EXPECT_THAT(problems_with(kData + "uuid.parquet", format),
              ElementsAre(HasSubstr("no column \"/text/0\", which input.text names")));
}

TEST(ParquetColumns, WhatIsNotReadIsRefusedByName) {
  const std::map<std::string, std::string> wanted{
      {"tags", "a list"}, {"meta", "a structure of several columns"}, {"map", "a map"}};
  for (const auto& [column, why] : wanted) {
    FormatOptions format;
    format.scope_fields = {column};
    EXPECT_THAT(
        problems_with(kData + "nested_beside.parquet", format),
        ElementsAre(HasSubstr(fmt::format("column \"{}\", which input.scope names, is {}", column, why))));
  }
  FormatOptions format;
  format.format = "text";
  EXPECT_THAT(problems_with(kData + "uuid.parquet", format),
              ElementsAre(HasSubstr("not with input.format: text")));
}

TEST(ParquetColumns, OnlyThoseThatAreNamedAreRead) {
  FormatOptions format;
  format.id_fields = {"url"};
  format.url_fields = format.date_fields = {};
  const Taken taken = take_all(of(kData + "nested_beside.parquet", format));
  ASSERT_EQ(taken.lines.size(), 60u);
  EXPECT_THAT(taken.lines[1].value, testing::StartsWith("{\"text\":"));
  EXPECT_THAT(taken.lines[1].value, testing::EndsWith(",\"url\":null}"));
}

// --- Bad input.

TEST(ParquetDamage, WhatIsNoWholeFileSaysWhatItIs) {
  TemporaryDirectory d;
  const std::string whole = read_back(kData + "codec_snappy_v1.parquet");
  std::string lies = whole, encrypted = whole;
  lies.replace(lies.size() - 8, 4, "\xff\xff\xff\x7f");
  encrypted.replace(encrypted.size() - 4, 4, "PARE");
  const std::vector<std::array<std::string, 3>> cases{
      {"cut.parquet", whole.substr(0, whole.size() / 2),
       "it does not end with PAR1: the Parquet file is truncated"},
      {"tiny.parquet", "PAR1", "too short for a Parquet file: it has 4 bytes"},
      {"frame.parquet", std::string("PAR1\0\0\0\0PAR1", 12), "its footer cannot be understood"},
      {"lies.parquet", lies, "its footer has 2147483647 bytes, it says, and the file"},
      {"key.parquet", encrypted, "an encrypted Parquet file, which is not read"},
      {"key2.parquet", "PARE" + whole.substr(4), "an encrypted Parquet file, which is not read"},
      {"magic.parquet", "PAX1" + whole.substr(4),
       "not a Parquet file, though its name says so: it does not begin with"},
      {"empty.parquet", "", "not a Parquet file, though its name says so"},
      {"text.PARQUET", "some text", "not a Parquet file, though its name says so"},
      {"packed.parquet.gz", gz(whole), "a packed Parquet file; unpack it"},
      {"packed.parquet", zst(whole), "a packed Parquet file; unpack it"}};
  for (const auto& [name, bytes, message] : cases) {
    write_file(d / name, bytes);
    EXPECT_THAT(
        problems_with(d / name, {}),
        ElementsAre(HasSubstr(fmt::format(
            "{}: {}{}", name, message.starts_with("its") ? "a damaged Parquet file: " : "", message))))
        << name;
  }
}

TEST(ParquetDamage, NoColumnsNoParquet) {
  const Taken taken = take_all(FilesSourceOptions{.paths = {kData + "uuid.parquet"}});
  EXPECT_THAT(messages_of(taken), ElementsAre(HasSubstr("a Parquet file, which only scan, sign, tune and")));
}

// False statements in a file: the message names the column, and the rows before it are handed out.
TEST(ParquetDamage, LiesAreNamedWithTheColumn) {
  const WrittenColumn ids = text_column("id", {"a", "b", "c"});
  const auto page = [](WrittenPage of) { return WrittenColumn{.name = "text", .pages = {std::move(of)}}; };
  const auto dictionary = [](std::string indices) {
    return WrittenColumn{.name = "text",
                         .pages = {{.bytes = plain_bytes({"one", "two"}), .values = 2, .dictionary = true},
                                   {.bytes = std::move(indices), .values = 3, .encoding = 8}}};
  };
  const std::string three = plain_bytes({"one", "two", "three"});
  WrittenColumn far = text_column("text", {"1", "2", "3"}), big = far, locked = far, other = far, lzo = far,
                negative = far, unknown = far;
  far.chunk_at = 1 << 20;
  big.chunk_bytes = 1 << 20;
  negative.chunk_at = -5;
  locked.encrypted = other.elsewhere = true;
  lzo.codec = 3;
  unknown.codec = 77;
  WrittenColumn snappy = page({.bytes = std::string("\x80\x80\x80\x80\x04", 5) + three, .values = 3});
  snappy.codec = 1;
  snappy.pages[0].unpacked = 1 << 30;
  WrittenColumn zstd = page({.bytes = zst(three), .values = 3, .unpacked = 500'000'000});
  zstd.codec = 6;
  WrittenColumn gzip = page({.bytes = gz(std::string(1 << 20, 'x')), .values = 3, .unpacked = 1000});
  gzip.codec = 2;
  WrittenColumn lz4 = page({.bytes = three, .values = 3, .unpacked = 400'000'000});
  lz4.codec = 7;
  struct Lie {
    WrittenColumn column;
    std::string message;
    size_t rows = 0;  // rows handed out before
  };
  const std::vector<Lie> lies{
      {page({.bytes = three, .values = 4}), "a page has 4 values, and its row group only 3 more rows"},
      {page({.bytes = three, .values = -1}), "a page has -1 values"},
      {page({.bytes = three, .values = 2}), "it ends 1 rows before its row group does", 2},
      {page({.bytes = plain_bytes({"one"}), .values = 3}), "a page ends before its values do", 1},
      {page({.bytes = three.substr(0, three.size() - 1), .values = 3}), "a page ends before its values do",
       2},
      {page({.bytes = three, .values = 3, .packed = 1 << 20}),
       "a page has 1048576 bytes, its head says, and only"},
      {page({.bytes = three, .values = 3, .packed = -7}), "a page has -7 bytes, its head says"},
      {page({.bytes = three, .values = 3, .unpacked = 7}), "a page that is not packed has two lengths"},
      {page({.bytes = three, .values = 3, .unpacked = INT32_MAX}), "more than the 536870912 that are read"},
      {page({.bytes = three, .values = 3, .encoding = 9}),
       "its encoding is BYTE_STREAM_SPLIT, which is not read"},
      {page({.bytes = three, .values = 3, .encoding = 5}),
       "its encoding is DELTA_BINARY_PACKED, which is not"},
      {page({.bytes = three, .values = 3, .encoding = 42}), "its encoding is an unknown one"},
      {page({.bytes = three, .values = 3, .encoding = 7}), "damaged values (DELTA_BYTE_ARRAY)"},
      {page({.bytes = three, .values = 3, .encoding = 6}), "damaged values (DELTA_LENGTH_BYTE_ARRAY)"},
      {page({.bytes = three, .values = 3, .encoding = 8}), "a page ends before its values do"},
      {{.name = "text"}, "it ends 3 rows before its row group does"},
      {dictionary(std::string("\x02\x02\x01\x02\x03\x04\x00", 7)),
       "a page names value 3 of a dictionary that has 2", 1},
      {dictionary(std::string("\x02\x04\x01", 3)), "a page ends before its values do", 2},
      {dictionary("\x21\x06\x01"), "damaged values (RLE_DICTIONARY)"},
      {far, "go beyond the end of the file"},
      {big, "its 1048576 bytes at"},
      {negative, "go beyond the end of the file"},
      {locked, "it is encrypted"},
      {other, "its values are stored in another file"},
      {lzo, "it is packed with LZO, which is not read"},
      {unknown, "its codec is unknown (77)"},
      {snappy, "more than the 536870912 that are read"},
      {zstd, "unpack to 500000000, more than 1000 times as many"},
      {gzip, "it does not unpack to the 1000 bytes that its head names"},
      {lz4, "unpack to 400000000, more than 1000 times as many"}};
  TemporaryDirectory d;
  for (const Lie& lie : lies) {
    write_file(d / "x.parquet", parquet_file({ids, lie.column}, 3));
    const Taken taken = take_all(of(d / "x.parquet"));
    EXPECT_EQ(taken.lines.size(), lie.rows) << lie.message;
    EXPECT_THAT(
        messages_of(taken),
        ElementsAre(testing::AllOf(
            testing::StartsWith(d / "x.parquet: row group 0, column \"text\": "), HasSubstr(lie.message),
            HasSubstr(lie.rows == 2 ? "row 2 is not read"
                                    : fmt::format("rows {} to 2 are not read", lie.rows)))));
    // It is not read again.
    EXPECT_THAT(take_all(of(d / "x.parquet"), taken.positions.back()).problems, IsEmpty());
    // Columns that are not read are not checked.
    FormatOptions format;
    format.text_fields = {"id"};
    EXPECT_EQ(take_all(of(d / "x.parquet", format)).lines.size(), 3u) << lie.message;
  }
  write_file(d / "x.parquet", parquet_file({ids, text_column("text", {"1", "2", "3"})}, -1));
  EXPECT_THAT(messages_of(take_all(of(d / "x.parquet"))),
              ElementsAre(HasSubstr("row group 0, it has -1 rows")));
}

// Hadoop's blocks, also in several parts, and the single LZ4 block that some writers stored under the same
// number.
TEST(ParquetReading, TheOldLz4IsReadInBothForms) {
  const auto literals = [](const std::string& text) { return static_cast<char>(text.size() << 4) + text; };
  const auto length = [](size_t n) { return std::string("\0\0\0", 3) + static_cast<char>(n); };
  const std::string one = plain_bytes({"one"}), two = plain_bytes({"two"});
  const std::string a = literals(one), b = literals(two);
  TemporaryDirectory d;
  for (const std::string& bytes :
       {length(one.size()) + length(a.size()) + a + length(two.size()) + length(b.size()) + b,
        length(one.size() + two.size()) + length(a.size()) + a + length(b.size()) + b,
        static_cast<char>((one + two).size() << 4) + one + two}) {
    WrittenColumn texts = text_column("text", {"one", "two"});
    texts.codec = 5;
    texts.pages[0].unpacked = static_cast<int64_t>(one.size() + two.size());
    texts.pages[0].bytes = bytes;
    write_file(d / "x.parquet", parquet_file({texts}, 2));
    const Taken taken = take_all(of(d / "x.parquet"));
    EXPECT_THAT(messages_of(taken), IsEmpty());
    EXPECT_THAT(values_of(taken), ElementsAre("{\"text\":\"one\"}", "{\"text\":\"two\"}"));
  }
}

// A run of one value and a dictionary take few bytes, so there may be many rows. Memory does not grow with
// them.
TEST(ParquetReading, ABillionEqualRowsTakeNoMemory) {
  TemporaryDirectory d;
  std::string run("\x01", 1);
  put_varint(run, uint64_t{1'000'000'000} << 1);
  run.push_back('\1');
  const WrittenColumn texts{.name = "text",
                            .pages = {{.bytes = plain_bytes({"one", "two"}), .values = 2, .dictionary = true},
                                      {.bytes = run, .values = 1'000'000'000, .encoding = 8}}};
  write_file(d / "x.parquet", parquet_file({texts}, 1'000'000'000));
  std::unique_ptr<Source> source = must_open(of(d / "x.parquet"));
  Batch batch;
  for (int i = 0; i < 20; ++i) {
    ASSERT_TRUE(*source->next(batch));
    EXPECT_THAT(batch.records, SizeIs(1024));
    EXPECT_EQ(batch.records[7].value, "{\"text\":\"two\"}");
  }
  // The row's number is larger than the file, and its place still works.
  source = must_open(of(d / "x.parquet"), batch.position);
  ASSERT_TRUE(*source->next(batch));
  EXPECT_EQ(batch.records[0].offset, 20u * 1024);
}

TEST(ParquetReading, AHugeTextIsRead) {
  const Taken taken = take_all(of(kData + "huge.parquet"));
  EXPECT_THAT(messages_of(taken), IsEmpty());
  ASSERT_EQ(taken.lines.size(), 3u);
  EXPECT_GT(taken.lines[1].value.size(), 3'000'000u);
  EXPECT_THAT(taken.lines[1].value, testing::StartsWith("{\"id\":\"doc-0001\",\"text\":\"word word word"));
  EXPECT_THAT(taken.lines[2].value, HasSubstr("\"after\""));
  FilesSourceOptions options = of(kData + "huge.parquet");
  options.max_line_bytes = 1 << 20;
  const Taken shorter = take_all(options);
  EXPECT_EQ(shorter.lines.size(), 2u);
  EXPECT_THAT(messages_of(shorter), ElementsAre(HasSubstr("row 1: 3000")));
}

TEST(ParquetReading, SignedRecordsAreAColumn) {
  TemporaryDirectory d;
  WrittenColumn records = text_column("signed_record", {"first", std::string("\0\xff\"", 3), ""});
  records.converted = -1;
  write_file(d / "x.parquet", parquet_file({text_column("id", {"a", "b", "c"}), records}, 3));
  write_file(d / "y.parquet", parquet_file({text_column("id", {"a"}), text_column("signed_rec", {"x"})}, 1));
  FormatOptions format;
  format.format = "signed";
  FilesSourceOptions options = of(d / "x.parquet", format);
  options.layout = Layout::signed_records;
  EXPECT_THAT(values_of(take_all(options)), ElementsAre("first", std::string("\0\xff\"", 3), ""));
  options.paths = {d / "y.parquet"};
  EXPECT_THAT(
      messages_of(take_all(options)),
      ElementsAre(HasSubstr("no column \"signed_record\", which input.format: signed names (did you mean "
                            "signed_rec?)")));
}

// Changes every byte of a file: the reader never crashes and never invents a row, and rows before the damage
// are right.
TEST(ParquetDamage, AnyByteMayBeWrong) {
  TemporaryDirectory d;
  for (const char* name : {"encoding_delta_byte_array_v2", "codec_snappy_v1", "dictionary"}) {
    const std::string whole = read_back(kData + name + std::string(".parquet"));
    const std::vector<std::string> wanted = lines_of(kData + name + std::string(".jsonl"));
    for (size_t i = 4; i < whole.size(); i += 61) {
      std::string bytes = whole;
      bytes[i] = static_cast<char>(bytes[i] ^ 0x55);
      write_file(d / "x.parquet", bytes);
      const Taken taken = take_all(of(d / "x.parquet"));
      EXPECT_LE(taken.lines.size(), wanted.size()) << i;
    }
  }
}

// Pages of the fixtures encoding_* have checksums.
TEST(ParquetDamage, AChecksumNamesRowGroupAndColumn) {
  TemporaryDirectory d;
  std::string bytes = read_back(kData + "encoding_plain_v1.parquet");
  const size_t at = bytes.rfind("salmon", bytes.size() - 3000);
  ASSERT_NE(at, std::string::npos);
  const Taken before = take_all(of(kData + "encoding_plain_v1.parquet"));
  std::vector<std::string> seen;
  for (size_t i = 4; i + 2500 < bytes.size(); i += 40) {
    std::string damaged = bytes;
    damaged[i] = static_cast<char>(damaged[i] ^ 1);
    write_file(d / "x.parquet", damaged);
    const Taken taken = take_all(of(d / "x.parquet"));
    ASSERT_LE(taken.lines.size(), 60u);
    // With checksums, no wrong row is handed out.
    for (const InputLine& line : taken.lines) ASSERT_EQ(line.value, before.lines[line.offset].value) << i;
    for (const std::string& message : messages_of(taken)) seen.push_back(message);
  }
  EXPECT_THAT(seen,
              Contains(testing::AllOf(HasSubstr("x.parquet: row group 0, column \"text\": a page has a wrong "
                                                "checksum; rows "),
                                      HasSubstr(" are not read"))));
}

// Damage costs the rest of its row group, and no other one: each row is either read or reported as lost.
TEST(ParquetDamage, EachRowIsReadOrNamed) {
  TemporaryDirectory d;
  const std::string whole = read_back(kData + "many_groups.parquet");
  const std::vector<std::string> wanted = lines_of(kData + "many_groups.jsonl");
  const size_t footer = whole.size() - 8 - load<uint32_t>(whole.data() + whole.size() - 8);
  size_t went_on = 0;
  for (size_t i = 4; i < footer; i += 83) {
    std::string bytes = whole;
    bytes[i] = static_cast<char>(bytes[i] ^ 0x55);
    write_file(d / "x.parquet", bytes);
    const Taken taken = take_all(of(d / "x.parquet"));
    size_t lost = 0;
    for (const std::string& message : messages_of(taken)) {
      unsigned first = 0, last = 0;
      const size_t at = message.rfind("; row");
      ASSERT_NE(at, std::string::npos) << message;
      const int numbers = std::sscanf(message.c_str() + at, "; rows %u to %u are", &first, &last);
      if (numbers < 2) {
        ASSERT_EQ(std::sscanf(message.c_str() + at, "; row %u is", &first), 1) << message;
      }
      last = std::max(first, last);
      lost += last - first + 1;
      if (last + 1 < wanted.size()) ++went_on;
    }
    EXPECT_EQ(taken.lines.size() + lost, wanted.size()) << i;
    // The position of a file with lost rows works for the next run.
    for (const std::string& position : taken.positions)
      EXPECT_LE(take_all(of(d / "x.parquet"), position).lines.size(), taken.lines.size());
  }
  EXPECT_GT(went_on, 3u);
}

TEST(ParquetDamage, AFileCutWhileItIsReadIsNamed) {
  TemporaryDirectory d;
  write_file(d / "x.parquet", read_back(kData + "many_groups.parquet"));
  FilesSourceOptions options = of(d / "x.parquet");
  options.batch_records = 3;
  std::unique_ptr<Source> source = must_open(options);
  Batch batch;
  ASSERT_TRUE(*source->next(batch));
  std::filesystem::resize_file(d / "x.parquet", 6000);
  const Taken rest = take_all(*source);
  EXPECT_THAT(messages_of(rest), ElementsAre(HasSubstr("the file ends too early")));
}

}  // namespace
}  // namespace doppel

// doppel scan, sign and tune on Parquet, against the same rows as JSONL.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "commands/replaced.h"
#include "commands/run_doppel.h"
#include "engine/signed_record.h"
#include "files/parquet_writer.h"
#include "packed.h"

namespace doppel {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
namespace fs = testing::fs;
using testing::Ran;
using testing::read_file;
using testing::replaced;
using testing::run_doppel;
using testing::TempDir;
using testing::write_file;

const std::string kData = DOPPEL_SOURCE_DIR "/tests/files/data/parquet/";

// Places differ: bytes in JSONL, rows in Parquet. A document without an id is named after its place.
std::string without_places(const std::string& text) {
  return replaced(
      text, R"re("(event_id|cluster_id|file)":"[^"]*"|"offset":[0-9]+|"(id|duplicate_of)":"[^"]*/[0-9]+")re",
      "");
}

std::string out_of(const std::string& arguments) {
  const Ran ran = run_doppel(arguments);
  EXPECT_LE(ran.code, 1) << ran.err;
  return ran.out;
}

TEST(Parquet, VerdictsAreThoseOfTheSameRowsAsJsonl) {
  // 30 days: dates of any type decide which originals have expired.
  for (const char* name : {"crawl_text", "crawl_date32", "crawl_ms", "crawl_us", "crawl_ns", "crawl_epoch",
                           "crawl_bytes", "codec_zstd_v2", "timestamp_int96", "spark_snappy"}) {
    for (const char* how : {"--all", "", "--clusters", "--all --set expire_after=30d",
                            "--all --set input.passthrough=url,date --set input.tags=url"}) {
      if (std::string(how).find("url") != std::string::npos && std::string(name) == "crawl_bytes") continue;
      const std::string flags = std::string("scan -q ") + how + " " + kData + name;
      const std::string rows = without_places(out_of(flags + ".parquet"));
      EXPECT_EQ(rows, without_places(out_of(flags + ".jsonl"))) << name << " " << how;
      EXPECT_TRUE(!std::string(name).starts_with("crawl") || rows.find("near") != std::string::npos) << how;
    }
  }
}

// Originals expire in generations of a thousand, so the test takes thousands of rows: two years, and then the
// first texts again.
TEST(Parquet, DatesOfEveryTypeExpireOriginals) {
  TempDir dir;
  constexpr int kRows = 4000, kSecondsApart = 16'000;
  std::vector<std::string> ids, texts;
  std::string days, millis, micros, lines;
  for (int i = 0; i < kRows; ++i) {
    ids.push_back("d" + std::to_string(i));
    texts.push_back(fmt::format("a{0} b{0} c{0} d{0} e{0} f{0}", i < 3800 ? i : i - 3800));
    const int64_t seconds = 1'700'000'000 + int64_t{i} * kSecondsApart;
    put_fixed(days, static_cast<int32_t>(seconds / 86'400));
    put_fixed(millis, seconds * 1000 + 7);
    put_fixed(micros, seconds * 1'000'000 + 7);
    lines += fmt::format(R"({{"id":"{}","text":"{}","date":{}}})", ids.back(), texts.back(), seconds) + "\n";
  }
  write_file(dir / "in.jsonl", lines);
  const auto verdicts = [&](const std::string& expire, const std::string& name) {
    return without_places(out_of("scan -q --all --set expire_after=" + expire + " " + (dir / name)));
  };
  const std::string wanted = verdicts("90d", "in.jsonl");
  ASSERT_NE(wanted, verdicts("never", "in.jsonl"));
  const auto dates = [&](int type, int converted, const std::string& bytes) {
    const WrittenColumn date{
        .name = "date", .type = type, .converted = converted, .pages = {{.bytes = bytes, .values = kRows}}};
    write_file(dir / "in.parquet",
               parquet_file({text_column("id", ids), text_column("text", texts), date}, kRows));
    return verdicts("90d", "in.parquet");
  };
  EXPECT_EQ(dates(1, 6, days), wanted);
  EXPECT_EQ(dates(2, 9, millis), wanted);
  EXPECT_EQ(dates(2, 10, micros), wanted);
}

TEST(Parquet, ADirectoryIsReadInOrder) {
  TempDir dir;
  for (const char* name : {"crawl_text", "crawl_us", "codec_snappy_v1"}) {
    fs::create_directories(dir / "rows");
    fs::create_directories(dir / "lines");
    fs::copy_file(kData + name + std::string(".parquet"), dir / "rows/" + name + ".parquet");
    fs::copy_file(kData + name + std::string(".jsonl"), dir / "lines/" + name + ".jsonl");
  }
  write_file(dir / "rows/_SUCCESS", "");
  const Ran rows = run_doppel("scan --all " + (dir / "rows"));
  EXPECT_EQ(without_places(rows.out), without_places(out_of("scan -q --all " + (dir / "lines"))));
  EXPECT_THAT(rows.err, HasSubstr("300 documents"));
  EXPECT_EQ(rows.code, 0);
}

TEST(Parquet, AKilledScanGoesOnAtItsRow) {
  TempDir dir;
  fs::copy_file(kData + "crawl_ms.parquet", dir / "in.parquet");
  // A state directory draws a key, with which other pairs near the threshold share no band.
  write_file(dir / "key", "00112233445566778899aabbccddeeff\n");
  const std::string common =
      "scan -q --all --set batch_documents=9 --set hash_key_file=" + (dir / "key") + " ";
  const std::string whole = run_doppel(common + (dir / "in.parquet")).out;
  ASSERT_EQ(std::count(whole.begin(), whole.end(), '\n'), 120);
  const std::string go_on = common + "--state " + (dir / "state") + " -o " + (dir / "out") + " --keep " +
                            (dir / "kept.jsonl") + " " + (dir / "in.parquet");
  int killed = 0;
  for (const char* at : {"before_outputs:3", "after_outputs:2", "before_outputs:4", "after_outputs:3"})
    killed += run_doppel(go_on, std::string("DOPPEL_KILL_AT=") + at).code == 137 ? 1 : 0;
  EXPECT_EQ(killed, 4);
  EXPECT_EQ(run_doppel(go_on).code, 0);
  EXPECT_EQ(read_file(dir / "out"), whole);
  const std::string kept = read_file(dir / "kept.jsonl");
  EXPECT_EQ(run_doppel(common + "--keep " + (dir / "kept.2") + " " + (dir / "in.parquet")).code, 0);
  EXPECT_EQ(kept, read_file(dir / "kept.2"));
  // Everything was read; nothing comes again.
  const Ran again = run_doppel("scan --all --set hash_key_file=" + (dir / "key") + " --state " +
                               (dir / "state") + " -o " + (dir / "out") + " " + (dir / "in.parquet"));
  EXPECT_THAT(again.err, HasSubstr("0 documents"));
}

TEST(Parquet, SignsAsJsonlDoes) {
  TempDir dir;
  for (const char* kind : {"parquet", "jsonl"}) {
    const std::string in = kData + "crawl_bytes." + kind;
    EXPECT_EQ(run_doppel("sign -q " + in + " -o " + (dir / kind)).code, 1);
  }
  const std::string rows = out_of("scan -q --all --format signed " + (dir / "parquet"));
  EXPECT_EQ(without_places(rows), without_places(out_of("scan -q --all --format signed " + (dir / "jsonl"))));
  EXPECT_EQ(rows, out_of("scan -q --all " + kData + "crawl_bytes.parquet"));
  // The row of a rejected document is passed on.
  const Ran signed_scan = run_doppel("scan --format signed " + (dir / "parquet"));
  EXPECT_THAT(signed_scan.err, HasSubstr("crawl_bytes.parquet: row 4: not JSON: it is not valid UTF-8"));
}

// As the wheel and Spark write them: a column with the records of doppel sign.
TEST(Parquet, SignedRecordsOfAColumn) {
  TempDir dir;
  ASSERT_EQ(run_doppel("sign -q " + kData + "crawl_text.jsonl -o " + (dir / "in.signed")).code, 0);
  const std::string bytes = read_file(dir / "in.signed");
  std::vector<std::string> records;
  for (size_t at = *signed_header_size(bytes); *parse_frame_head(bytes.substr(at)) != 0;) {
    records.push_back(bytes.substr(at + kFrameHead, *parse_frame_head(bytes.substr(at))));
    at += kFrameHead + records.back().size();
  }
  ASSERT_EQ(records.size(), 120u);
  WrittenColumn column = text_column("signed_record", records);
  column.converted = -1;
  write_file(dir / "in.parquet", parquet_file({column}, 120));
  const std::string wanted = out_of("scan -q --all " + kData + "crawl_text.jsonl");
  EXPECT_EQ(out_of("scan -q --all --format signed " + (dir / "in.signed")), wanted);
  EXPECT_EQ(out_of("scan -q --all --format signed " + (dir / "in.parquet")), wanted);
  fs::create_directories(dir / "two");
  fs::rename(dir / "in.parquet", dir / "two/a.parquet");
  fs::rename(dir / "in.signed", dir / "two/b.signed");
  const std::string both = out_of("scan -q --all --format signed " + (dir / "two"));
  EXPECT_EQ(std::count(both.begin(), both.end(), '\n'), 240);
  EXPECT_TRUE(both.starts_with(wanted));
  // With another key: each record is refused, by its row.
  const Ran other = run_doppel("scan --format signed " + (dir / "two/a.parquet"),
                               "DOPPEL_HASH_KEY=00112233445566778899aabbccddeeff");
  EXPECT_EQ(other.code, 1);
  EXPECT_THAT(other.err, HasSubstr("a.parquet: row 0: signed with another data scheme or hash key"));
}

TEST(Parquet, KeptAndRejectedRowsAreLines) {
  TempDir dir;
  const std::string in = kData + "crawl_bytes";
  const Ran rows =
      run_doppel("scan --keep " + (dir / "kept") + " --rejects " + (dir / "rejects") + " " + in + ".parquet");
  EXPECT_EQ(rows.code, 1);
  EXPECT_THAT(rows.err, HasSubstr("crawl_bytes.parquet: row 4: not JSON: it is not valid UTF-8"));
  EXPECT_EQ(run_doppel("scan -q --keep " + (dir / "kept.2") + " --rejects " + (dir / "rejects.2") + " " + in +
                       ".jsonl")
                .code,
            1);
  EXPECT_EQ(read_file(dir / "kept"), read_file(dir / "kept.2"));
  EXPECT_EQ(read_file(dir / "rejects"), read_file(dir / "rejects.2"));
  EXPECT_THAT(read_file(dir / "rejects"), Not(IsEmpty()));
  // A directory: the kept file is not Parquet, and its name says so.
  fs::create_directory(dir / "all");
  fs::copy_file(in + ".parquet", dir / "all/in.parquet");
  EXPECT_EQ(run_doppel("scan -q --keep " + (dir / "each/") + " " + (dir / "all/in.parquet")).code, 1);
  bool found = false;
  for (const auto& entry : fs::recursive_directory_iterator(dir / "each"))
    found = found || (entry.path().filename() == "in.parquet.jsonl" &&
                      read_file(entry.path()) == read_file(dir / "kept"));
  EXPECT_TRUE(found);
  // Only verdicts and unique rows can be written as Parquet, and only as a whole.
  for (const std::string output : {"-o ", "--rejects ", "--clusters -o "}) {
    const Ran refused = run_doppel(fmt::format("scan {} {} {}.parquet", output, dir / "x.parquet", in));
    EXPECT_EQ(refused.code, 2);
    EXPECT_THAT(refused.err, AllOf(HasSubstr("not Parquet"), HasSubstr("--keep FILE.parquet")));
  }
  for (const std::string output : {"--all -o ", "--keep "}) {
    const Ran refused = run_doppel(
        fmt::format("scan {} {} --state {} {}.parquet", output, dir / "x.parquet", dir / "state", in));
    EXPECT_EQ(refused.code, 2);
    EXPECT_THAT(refused.err, HasSubstr("not with --state"));
  }
  EXPECT_FALSE(fs::exists(dir / "x.parquet"));
  const Ran refused = run_doppel("sign -o " + (dir / "x.parquet") + " " + in + ".parquet");
  EXPECT_EQ(refused.code, 2);
  EXPECT_THAT(refused.err, HasSubstr("name it .signed"));
}

// A column that is not compared has a damaged page: its rows cannot be kept, so they do not count. A later
// copy of such a row is an original, and kept.
TEST(Parquet, ADamagedPageOfAKeptColumnCostsItsRowGroup) {
  TempDir dir;
  const auto texts = [](const std::string& of) {
    std::vector<std::string> out;
    for (int i = 0; i < 3; ++i) out.push_back(fmt::format("{0}{1} b{0}{1} c{0}{1} d{0}{1} e{0}{1}", of, i));
    return out;
  };
  const auto write = [&](const std::string& name, const std::string& of, const WrittenColumn& note) {
    const std::vector<std::string> ids{name + "0", name + "1", name + "2"};
    write_file(dir / (name + ".parquet"),
               parquet_file({text_column("id", ids), text_column("text", texts(of)), note}, 3));
  };
  const WrittenColumn note = text_column("note", {"p", "q", "r"});
  WrittenColumn cut = note, crossed = note;
  cut.pages[0].bytes.pop_back();
  crossed.chunk_at = 1 << 20;
  write("a", "x", note);
  write("c", "y", note);
  for (const auto& [damaged, cause] :
       {std::pair(cut, "a page ends before its values do"), std::pair(crossed, "go beyond the end")}) {
    write("b", "y", damaged);
    for (const std::string& order : {std::string("abc"), std::string("bac"), std::string("cab")}) {
      std::string paths;
      for (const char name : order) paths += fmt::format(" {}", dir / (name + std::string(".parquet")));
      const Ran ran =
          run_doppel("scan --all -o " + (dir / "out") + " --keep " + (dir / "kept.parquet") + paths);
      EXPECT_EQ(ran.code, 1) << ran.err;
      EXPECT_THAT(ran.err, AllOf(HasSubstr("b.parquet: row group 0, column \"note\": "), HasSubstr(cause),
                                 HasSubstr("; rows 0 to 2 are not read")));
      const std::string verdicts = read_file(dir / "out");
      EXPECT_EQ(std::count(verdicts.begin(), verdicts.end(), '\n'), 6) << order;
      EXPECT_THAT(verdicts, AllOf(Not(HasSubstr("\"duplicate\"")), Not(HasSubstr("b.parquet"))));
      // The kept file has the rows of the other two, with all columns.
      const Ran again = run_doppel("scan -q --set input.passthrough=note --keep " + (dir / "again.jsonl") +
                                   " " + (dir / "kept.parquet"));
      EXPECT_EQ(again.code, 0);
      const std::string kept = read_file(dir / "again.jsonl");
      EXPECT_EQ(std::count(kept.begin(), kept.end(), '\n'), 6);
      for (const char* id : {"a0", "a2", "c0", "c2"}) EXPECT_THAT(kept, HasSubstr(id));
      EXPECT_THAT(kept, HasSubstr("\"note\":\"r\""));
    }
  }
  // If the column is not copied, it is not checked.
  EXPECT_EQ(run_doppel("scan -q --keep " + (dir / "kept.jsonl") + " " + (dir / "b.parquet")).code, 0);
}

TEST(Parquet, WhatHasNoRowsIsKeptAsAFileWithoutRows) {
  TempDir dir;
  const std::string empty = kData + "no_rows.parquet", kept = dir / "kept.parquet";
  const Ran ran = run_doppel("scan --keep " + kept + " " + empty);
  EXPECT_EQ(ran.code, 0) << ran.err;
  const Ran again = run_doppel("scan -q --all " + kept);
  EXPECT_EQ(again.code, 0) << again.err;
  EXPECT_EQ(again.out, "");
  // Without any columns no file is written, and the previous one stays.
  write_file(dir / "cut.parquet", read_file(empty).substr(0, 20));
  const std::string before = read_file(kept);
  const Ran none = run_doppel("scan --all --keep " + kept + " " + (dir / "cut.parquet"));
  EXPECT_EQ(none.code, 3);
  EXPECT_THAT(none.err, HasSubstr("kept.parquet is not written: no Parquet file was read"));
  EXPECT_EQ(read_file(kept), before);
}

// A wrong command is refused before it judges anything.
TEST(Parquet, FilesThatCannotBeKeptTogetherAreRefusedAtTheStart) {
  TempDir dir;
  const std::vector<std::string> ids{"a"}, texts{"one two three four five six"};
  write_file(dir / "a.parquet", parquet_file({text_column("id", ids), text_column("text", texts)}, 1));
  write_file(dir / "b.parquet", parquet_file({text_column("text", texts)}, 1));
  write_file(dir / "c.jsonl", "{\"text\":\"one two three four\"}\n{\"text\":\"five\"}\n");
  for (const auto& [other, cause] : {std::pair("b.parquet", "its columns are not those of "),
                                     std::pair("c.jsonl", "only rows of Parquet")}) {
    const Ran ran = run_doppel(
        fmt::format("scan --all --keep {} {} {}", dir / "kept.parquet", dir / "a.parquet", dir / other));
    EXPECT_EQ(ran.code, 2);
    EXPECT_EQ(ran.out, "");
    EXPECT_THAT(ran.err, AllOf(HasSubstr(other), HasSubstr(cause)));
  }
}

#ifndef DOPPEL_SANITIZED

// Under a limit of the address space, data that does not fit costs only its own file.
TEST(Parquet, WhatTakesTooMuchMemoryIsNamedAndTheNextFileIsRead) {
  TempDir dir;
  // Small when compressed, but not a decompression bomb.
  std::string large;
  for (int i = 0; large.size() < (250 << 20); ++i) {
    large.append(128 << 10, 'a');
    for (int word = 0; word < 60; ++word)
      large += fmt::format(" {}", uint64_t{0x9e3779b97f4a7c15} * (i * 60 + word + 1));
  }
  WrittenColumn column = text_column("text", {large});
  column.codec = 6;
  column.pages[0].unpacked = static_cast<int64_t>(column.pages[0].bytes.size());
  column.pages[0].bytes = zst(column.pages[0].bytes);
  write_file(dir / "a.parquet", parquet_file({column}, 1));
  write_file(dir / "b.parquet", parquet_file({text_column("text", {"one two three four five six"})}, 1));
  const Ran ran = run_doppel("scan --all --set threads=1 " + (dir / "a.parquet") + " " + (dir / "b.parquet"),
                             "ulimit -v 700000;");
  EXPECT_EQ(ran.code, 1) << ran.err;
  EXPECT_THAT(ran.err, AllOf(HasSubstr("a.parquet: "), HasSubstr("it takes more memory than there is")));
  EXPECT_EQ(std::count(ran.out.begin(), ran.out.end(), '\n'), 1);
  EXPECT_THAT(ran.out, HasSubstr("b.parquet/0"));
}

#endif

TEST(Parquet, EventsNameFileAndRowWhereThereIsNoId) {
  TempDir dir;
  const std::string text = "one two three four five six seven eight nine ten";
  write_file(dir / "in.parquet", parquet_file({text_column("text", {text, "another", text})}, 3));
  const Ran ran = run_doppel("scan -q " + (dir / "in.parquet"));
  EXPECT_THAT(ran.out,
              AllOf(HasSubstr("\"id\":\"" + (dir / "in.parquet") + "/2\""), HasSubstr("\"offset\":2"),
                    HasSubstr("\"cluster_id\":\"" + (dir / "in.parquet") + "/0\"")));
}

TEST(Parquet, AMissingColumnIsNamed) {
  const Ran ran = run_doppel("scan --set input.text=texts " + kData + "crawl_text.parquet");
  EXPECT_EQ(ran.code, 1);
  EXPECT_THAT(
      ran.err,
      HasSubstr("crawl_text.parquet: no column \"texts\", which input.text names (did you mean text?)"));
  EXPECT_EQ(ran.out, "");
}

TEST(Parquet, PipesAndPackedFilesAreRefused) {
  const Ran piped = run_doppel("scan - <" + kData + "crawl_text.parquet");
  EXPECT_EQ(piped.code, 1);
  EXPECT_THAT(piped.err, HasSubstr("-: a Parquet file through a pipe; give the file's name"));
  const Ran packed = run_doppel("scan - < /dev/stdin", "gzip -c " + kData + "crawl_text.parquet |");
  EXPECT_EQ(packed.code, 1);
  EXPECT_THAT(packed.err, HasSubstr("-: a packed Parquet file"));
}

TEST(Parquet, TuneAndExplainReadItToo) {
  const std::string rows = kData + "crawl_text.parquet", lines = kData + "crawl_text.jsonl";
  const auto without_names = [](const std::string& text) {
    return replaced(text, "[^ \n]*crawl_text[^ \n]*", "FILE");
  };
  // Compares only from "Measured on" on: the cost of metadata before it differs, because the place of a row
  // is shorter.
  const auto measured = [&](const std::string& path) {
    const std::string out = without_names(out_of("tune --sample " + path));
    return out.substr(std::min(out.size(), out.find("Measured on")));
  };
  EXPECT_EQ(measured(rows), measured(lines));
  EXPECT_THAT(measured(rows), HasSubstr("all 116 documents"));
  EXPECT_EQ(without_names(out_of("explain --in " + rows + " doc-0 doc-4")),
            without_names(out_of("explain --in " + lines + " doc-0 doc-4")));
}

}  // namespace
}  // namespace doppel

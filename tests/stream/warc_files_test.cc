// WARC files in every packing: the records that were put in come out, with their places, whatever the sizes
// of batches and buffers; and what is damaged is told with its place.

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <random>

#include "base/status.h"
#include "formats/warc.h"
#include "stream/files/byte_stream.h"
#include "stream/files_testing.h"
#include "zipped.h"

namespace doppel {
namespace {

using testing::HasSubstr;

std::string warc_record(std::string_view uri, std::string_view block) {
  return fmt::format(
      "WARC/1.0\r\nWARC-Type: resource\r\nWARC-Target-URI: {}\r\nContent-Type: text/plain\r\nContent-Length: "
      "{}\r\n\r\n{}\r\n\r\n",
      uri, block.size(), block);
}

struct Put {
  std::string block;
  uint64_t offset = 0;  // unpacked
  uint64_t stored = 0;
};

// A file of these records; in a packed one each is a member of its own.
std::string file_of(std::vector<Put>& puts, Packing packing) {
  std::string bytes;
  uint64_t offset = 0;
  for (size_t i = 0; i < puts.size(); ++i) {
    std::string record = warc_record(fmt::format("http://x/{}", i), puts[i].block);
    puts[i].offset = offset;
    puts[i].stored = bytes.size();
    offset += record.size();
    bytes += packing == Packing::gz ? gz(record) : packing == Packing::zst ? zst(record) : record;
  }
  return bytes;
}

struct Got {
  std::string block;
  uint64_t offset = 0;
  std::optional<uint64_t> stored;
};

struct Reading {
  std::vector<Got> records;
  std::vector<std::string> problems;
  std::vector<std::string> positions;  // after each batch
  std::vector<size_t> counts;          // records until then
};

Reading read(const FilesSourceOptions& options, const std::string& position = "") {
  Reading run;
  auto source = open_files_source(options, position);
  if (!source.ok()) {
    run.problems.emplace_back(std_sv(source.status().message()));
    return run;
  }
  Batch batch;
  while (*(*source)->next(batch)) {
    for (const Record& record : batch.records) {
      EXPECT_TRUE(record.warc);
      auto parsed = parse_warc_record(record.value);
      EXPECT_TRUE(parsed.ok());
      run.records.push_back({std::string(parsed->block), record.offset, record.warc_offset});
    }
    for (const Problem& problem : batch.problems) run.problems.push_back(problem.message);
    run.positions.push_back(batch.position);
    run.counts.push_back(run.records.size());
  }
  return run;
}

constexpr const char* kNames[] = {"a.warc", "a.warc.gz", "a.warc.zst"};
constexpr Packing kPackings[] = {Packing::none, Packing::gz, Packing::zst};

std::vector<Put> random_puts(std::mt19937_64& random) {
  std::vector<Put> puts(1 + random() % 40);
  for (Put& put : puts) {
    put.block.resize(random() % 20 == 0 ? random() % 300'000 : random() % 3000);
    for (char& c : put.block) c = static_cast<char>(random() % 8 == 0 ? '\n' : 'a' + random() % 26);
  }
  return puts;
}

TEST(WarcFiles, RecordsComeOutAsTheyWerePutIn) {
  const uint64_t seed = std::random_device{}();
  SCOPED_TRACE(seed);
  std::mt19937_64 random(seed);
  for (int round = 0; round < 12; ++round) {
    TemporaryDirectory directory;
    std::vector<Put> puts = random_puts(random);
    write_file(directory / kNames[round % 3], file_of(puts, kPackings[round % 3]));
    FilesSourceOptions options{.paths = {directory / kNames[round % 3]}};
    options.batch_records = 1 + random() % 10;
    options.batch_bytes = 1 + random() % 100'000;
    options.buffer_bytes = 1 + random() % 10'000;
    Reading run = read(options);
    EXPECT_TRUE(run.problems.empty());
    ASSERT_EQ(run.records.size(), puts.size());
    for (size_t i = 0; i < puts.size(); ++i) {
      EXPECT_EQ(run.records[i].block, puts[i].block);
      EXPECT_EQ(run.records[i].offset, puts[i].offset);
      EXPECT_EQ(run.records[i].stored, puts[i].stored);
    }
    // From every place that a run can be left at, the rest and nothing else.
    for (size_t i = 0; i < run.positions.size(); i += 1 + random() % 5) {
      Reading rest = read(options, run.positions[i]);
      ASSERT_EQ(rest.records.size(), puts.size() - run.counts[i]);
      for (size_t r = 0; r < rest.records.size(); ++r) {
        EXPECT_EQ(rest.records[r].offset, puts[run.counts[i] + r].offset);
      }
    }
  }
}

TEST(WarcFiles, ManyRecordsInOneMember) {
  TemporaryDirectory directory;
  write_file(directory / "a.warc.gz", gz(warc_record("http://x/", "a") + warc_record("http://x/", "b")));
  Reading run = read({.paths = {directory / "a.warc.gz"}});
  ASSERT_EQ(run.records.size(), 2u);
  EXPECT_EQ(run.records[0].stored, 0u);
  EXPECT_EQ(run.records[1].stored, std::nullopt);
}

TEST(WarcFiles, ATruncatedFileSaysWhere) {
  TemporaryDirectory directory;
  std::vector<Put> puts{{"first"}, {std::string(5000, 'x')}};
  for (size_t i = 0; i < 3; ++i) {
    std::string bytes = file_of(puts, kPackings[i]);
    bytes.resize(bytes.size() - 8);
    const std::string path = directory / kNames[i];
    write_file(path, bytes);
    Reading run = read({.paths = {path}});
    // Of packed data the end may hold nothing but a checksum.
    EXPECT_THAT(run.records.size(), testing::AnyOf(1u, i == 0 ? 1u : 2u));
    ASSERT_EQ(run.problems.size(), 1u) << path;
    EXPECT_THAT(run.problems[0], HasSubstr(path + ": byte "));
    EXPECT_THAT(run.problems[0], testing::AnyOf(HasSubstr("too early"), HasSubstr("ends within the record")));
  }
  write_file(directory / "b.warc", warc_record("http://x/", "a") + "WARC/1.0\r\nWARC-Ty");
  EXPECT_THAT(read({.paths = {directory / "b.warc"}}).problems[0],
              HasSubstr("the file ends after 17 bytes of a"));
  write_file(directory / "c.warc", warc_record("http://x/", "a") + "<html>not a record");
  EXPECT_THAT(read({.paths = {directory / "c.warc"}}).problems[0], HasSubstr("no record begins here"));
}

TEST(WarcFiles, OfALargeRecordOnlyTheBeginning) {
  TemporaryDirectory directory;
  std::vector<Put> puts{{"a"}, {std::string(400'000, 'x')}, {"b"}};
  for (size_t i = 0; i < 3; ++i) {
    write_file(directory / kNames[i], file_of(puts, kPackings[i]));
    FilesSourceOptions options{.paths = {directory / kNames[i]}};
    options.max_whole_bytes = 100'000;
    Reading run = read(options);
    EXPECT_TRUE(run.problems.empty());
    ASSERT_EQ(run.records.size(), 3u);
    EXPECT_EQ(run.records[1].block, std::string(64 << 10, 'x'));
    EXPECT_EQ(run.records[2].block, "b");
    EXPECT_EQ(run.records[2].stored, puts[2].stored);
  }
}

TEST(WarcFiles, OthersAreRefusedByName) {
  TemporaryDirectory directory;
  write_file(directory / "a.wacz", "PK");
  write_file(directory / "a.arc.gz", "x");
  std::vector<Put> puts{{"a"}};
  write_file(directory / "b.warc", file_of(puts, Packing::none));
  Reading run = read({.paths = {directory.path()}});
  EXPECT_EQ(run.records.size(), 1u);
  ASSERT_EQ(run.problems.size(), 2u);
  EXPECT_THAT(run.problems, testing::Contains(HasSubstr("a.wacz: this WACZ file cannot be read")));
}

// Each record comes with the place that it has in its own file.
TEST(WarcFiles, AreReadInsideOfWaczFiles) {
  const uint64_t seed = std::random_device{}();
  SCOPED_TRACE(seed);
  std::mt19937_64 random(seed);
  for (int round = 0; round < 6; ++round) {
    TemporaryDirectory directory;
    std::vector<std::vector<Put>> puts{random_puts(random), random_puts(random), random_puts(random)};
    write_file(directory / "in/c.wacz",
               zipped({{"datapackage.json", "{}"},
                       {"archive/b.warc.gz", file_of(puts[1], Packing::gz)},
                       {"archive/c.warc", file_of(puts[2], Packing::none)},
                       {"archive/a.WARC.zst", file_of(puts[0], Packing::zst)},
                       {"archive/notes.txt", "none"},
                       {"archive/empty.warc.gz", ""},
                       {"pages/pages.jsonl", "{}"}},
                      {.large = round % 2 == 1, .comment = round % 3 == 0 ? "PK\5\6" : ""}));
    FilesSourceOptions options{.paths = {directory / "in"}};
    options.batch_records = 1 + random() % 10;
    options.buffer_bytes = 1 + random() % 10'000;
    Reading run = read(options);
    EXPECT_TRUE(run.problems.empty()) << run.problems[0];
    std::vector<Put> all;
    for (const auto& part : puts) all.insert(all.end(), part.begin(), part.end());
    ASSERT_EQ(run.records.size(), all.size());
    for (size_t i = 0; i < all.size(); ++i) {
      EXPECT_EQ(run.records[i].block, all[i].block);
      EXPECT_EQ(run.records[i].offset, all[i].offset);
      EXPECT_EQ(run.records[i].stored, all[i].stored);
    }
    // From every place that a run can be left at, the rest and nothing else; also without the file being
    // named in between.
    write_file(directory / "other/x.jsonl", "{}\n");
    for (size_t i = 0; i < run.positions.size(); i += 1 + random() % 5) {
      std::string position = run.positions[i];
      if (i % 2 == 1) {
        Batch batch;
        auto other = must_open({.paths = {directory / "other"}}, position);
        while (*other->next(batch)) {
          EXPECT_TRUE(batch.problems.empty()) << batch.problems[0].message;
          position = batch.position;
        }
      }
      Reading rest = read(options, position);
      EXPECT_TRUE(rest.problems.empty());
      ASSERT_EQ(rest.records.size(), all.size() - run.counts[i]) << i;
      for (size_t r = 0; r < rest.records.size(); ++r)
        EXPECT_EQ(rest.records[r].offset, all[run.counts[i] + r].offset);
    }
  }
}

TEST(WarcFiles, OfDamagedWaczFilesAClearMessage) {
  TemporaryDirectory directory;
  std::vector<Put> puts{{"a"}};
  const std::string warc = file_of(puts, Packing::none);
  const std::string whole = zipped({{"archive/a.warc", warc}});
  const std::string path = directory / "a.wacz";
  const auto problem = [&](const std::string& bytes) {
    write_file(path, bytes);
    Reading run = read({.paths = {path}});
    EXPECT_TRUE(run.records.empty());
    return run.problems.empty() ? "" : run.problems[0];
  };
  EXPECT_THAT(problem(whole.substr(0, whole.size() - 1)),
              HasSubstr(path + ": this WACZ file cannot be read: "));
  EXPECT_THAT(problem("not a ZIP archive"), HasSubstr("it is not a ZIP archive"));
  EXPECT_THAT(problem(zipped({{"pages/pages.jsonl", "{}"}})), HasSubstr("there is no archive/*.warc"));
  EXPECT_THAT(
      problem(zipped({{"archive/a.warc", warc}}, {.pack = true})),
      testing::AllOf(HasSubstr(path + "/archive/a.warc: it is packed a second time"), HasSubstr("unpack")));
  EXPECT_THAT(problem(zipped({{"archive/../../a.warc", warc}})), HasSubstr("leads out of the archive"));
  EXPECT_THAT(problem(zipped({{"archive/a.warc", warc}}, {.encrypted = true})),
              HasSubstr(path + "/archive/a.warc: it is encrypted"));
  // A small archive cannot have any number of large members.
  const auto problems = [&](const std::string& bytes) {
    write_file(path, bytes);
    Reading run = read({.paths = {path}});
    EXPECT_EQ(run.records.size(), 1u);
    return run.problems.size() == 1 ? run.problems[0] : std::to_string(run.problems.size());
  };
  EXPECT_THAT(problems(zipped({{"archive/a.warc", warc}, {"archive/b.warc", warc}}, {.shared = true})),
              HasSubstr(path + "/archive/b.warc: it shares bytes with another member"));
  EXPECT_THAT(problems(zipped({{"archive/a.warc", warc}, {"archive/a.warc", warc}})),
              HasSubstr(path + "/archive/a.warc: there are two members of that name"));
  // Sizes that no file has.
  std::string wrong = zipped({{"archive/a.warc", warc}}, {.large = true});
  const size_t sizes = wrong.rfind(std::string("\x01\0\x18\0", 4)) + 4;
  wrong.replace(sizes, 16, std::string(16, '\xff'));
  EXPECT_THAT(problem(wrong), HasSubstr(path + "/archive/a.warc: it lies behind the archive's end"));
  EXPECT_THAT(problem(zipped({{"archive/a.warc", warc.substr(0, 100)}})),
              HasSubstr(path + "/archive/a.warc: byte 0: the file ends"));
  // Whatever bytes are wrong, nothing but a message comes of it.
  const uint64_t seed = std::random_device{}();
  SCOPED_TRACE(seed);
  std::mt19937_64 random(seed);
  for (int i = 0; i < 2000; ++i) {
    std::string bytes = zipped({{"archive/a.warc", warc}}, {.large = i % 2 == 1});
    for (int n = 0; n < 3; ++n)
      bytes[bytes.size() - 1 - random() % (bytes.size() - warc.size())] = static_cast<char>(random());
    if (i % 5 == 0) bytes.resize(random() % bytes.size());
    write_file(path, bytes);
    const Reading run = read({.paths = {path}});
    EXPECT_LE(run.records.size(), 1u);
  }
}

}  // namespace
}  // namespace doppel

// WARC files in every compression: reading must return the stored records with their places, whatever the
// sizes of batches and buffers, and must report damage with its place.

#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <zstd.h>

#include <filesystem>
#include <map>
#include <random>
#include <set>
#include <tuple>

#include "base/status.h"
#include "files/byte_stream.h"
#include "files/files_testing.h"
#include "formats/warc/warc.h"
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
  uint64_t offset = 0;  // in uncompressed bytes
  uint64_t stored = 0;
};

// Writes a file of these records; in a compressed file, each is a member.
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
  std::vector<size_t> counts;          // number of records so far
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
    // From every place where a run can stop, the rest comes and nothing else.
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
    // The end of compressed data may contain only a checksum.
    EXPECT_THAT(run.records.size(), testing::AnyOf(1u, i == 0 ? 1u : 2u));
    ASSERT_EQ(run.problems.size(), 1u) << path;
    EXPECT_THAT(run.problems[0], HasSubstr(path + ": byte "));
    EXPECT_THAT(run.problems[0], testing::AnyOf(HasSubstr("too early"), HasSubstr("ends within the record")));
  }
  write_file(directory / "b.warc", warc_record("http://x/", "a") + "WARC/1.0\r\nWARC-Ty");
  EXPECT_THAT(read({.paths = {directory / "b.warc"}}).problems[0],
              HasSubstr("the file ends after 17 bytes of a"));
  write_file(directory / "c.warc", warc_record("http://x/", "a") + "<html>not a record");
  EXPECT_THAT(read({.paths = {directory / "c.warc"}}).problems[0], HasSubstr("no record starts here"));
}

// Everything outside the damage is read, with its place, from the start and from every place in between.
TEST(WarcFiles, ReadingGoesOnBehindDamage) {
  const uint64_t seed = std::random_device{}();
  SCOPED_TRACE(seed);
  std::mt19937_64 random(seed);
  for (int round = 0; round < 30; ++round) {
    TemporaryDirectory directory;
    std::vector<Put> puts(30 + random() % 30);
    for (Put& put : puts) {
      put.block.resize(random() % 4000);
      for (char& c : put.block) c = static_cast<char>('a' + random() % 26);
    }
    const std::string path = directory / kNames[round % 3];
    std::string bytes = file_of(puts, kPackings[round % 3]);
    const uint64_t begin = 12 + random() % (bytes.size() - 12),
                   end = std::min<uint64_t>(begin + 200, bytes.size());
    for (uint64_t at = begin; at < end; ++at) bytes[at] = static_cast<char>(0x80 | random() % 128);
    write_file(path, bytes);
    FilesSourceOptions options{.paths = {path}};
    options.batch_records = 1 + random() % 20;
    options.buffer_bytes = 1 + random() % 10'000;
    const Reading run = read(options);
    std::map<uint64_t, std::string> got;
    for (const Got& record : run.records)
      if (record.stored) got[*record.stored] = record.block;
    size_t whole = 0;
    for (size_t i = 0; i < puts.size(); ++i) {
      const uint64_t behind = i + 1 < puts.size() ? puts[i + 1].stored : bytes.size();
      if (puts[i].stored < end && begin < behind) continue;
      ++whole;
      ASSERT_TRUE(got.contains(puts[i].stored)) << path << " " << i << " " << begin;
      EXPECT_EQ(got[puts[i].stored], puts[i].block);
    }
    EXPECT_LE(run.records.size(), whole + 4);
    // Only gzip has a checksum of its content: damage in a stored block, or in a frame's literals, is not
    // noticed.
    if (round % 3 == 1) {
      ASSERT_GE(run.problems.size(), 1u);
      if (whole != 0 && got.rbegin()->first > begin) {
        EXPECT_THAT(run.problems[0], HasSubstr("are skipped"));
      }
    }
    for (size_t i = 0; i < run.positions.size(); i += 1 + random() % 5) {
      const Reading rest = read(options, run.positions[i]);
      ASSERT_EQ(rest.records.size(), run.records.size() - run.counts[i]);
      for (size_t r = 0; r < rest.records.size(); ++r)
        EXPECT_EQ(rest.records[r].offset, run.records[run.counts[i] + r].offset);
    }
  }
}

// The place in a compressed file is that of the member as it is stored.
TEST(WarcFiles, DamageIsNamedByTheMemberThatHasIt) {
  std::mt19937_64 random(7);
  std::vector<Put> puts = random_puts(random);
  while (puts.size() < 5) puts.push_back({.block = std::string(500, 'x')});
  puts[2].block = std::string(1000, 'y');
  for (const int file : {0, 1, 2}) {
    TemporaryDirectory directory;
    const std::string path = directory / kNames[file];
    std::string bytes = file_of(puts, kPackings[file]);
    const std::string first = bytes.substr(0, puts[2].stored), rest = bytes.substr(puts[3].stored);
    const std::string bad = "No record" + std::string(100, '.') + "\n";
    write_file(path, first + (file == 0 ? bad : file == 1 ? gz(bad) : zst(bad)) + rest);
    const Reading run = read({.paths = {path}});
    ASSERT_EQ(run.problems.size(), 1u);
    EXPECT_THAT(
        run.problems[0],
        HasSubstr(file == 0 ? fmt::format("{}: byte {}: warc: no record", path, puts[2].stored)
                            : fmt::format("{}: byte {} unpacked, in the {} at byte {}: warc: no record", path,
                                          puts[2].offset, file == 1 ? "gzip member" : "zstd frame",
                                          puts[2].stored)));
    EXPECT_EQ(run.records.size(), puts.size() - 1);
  }
}

// A frame without a checksum may unpack to other bytes, and a plain file has no frames: even then, a damaged
// length of a record must not cost the following records.
TEST(WarcFiles, ADamagedLengthEndsWhereTheNextRecordBegins) {
  const std::string good = warc_record("http://x/", std::string(300, 'x'));
  const auto with_length = [&](std::string_view length, std::string_view end) {
    std::string out = good;
    out.replace(out.find("300"), 3, length);
    return out.replace(out.size() - 4, 4, end);
  };
  for (size_t i = 0; i < 3; ++i) {
    // Longer, longer than the file, too large for memory, shorter; also without the lines that end the
    // record.
    for (const char* length : {"301", "304", "306", "500", "90000", "99999999", "299", "29", "3x0"}) {
      for (const char* end : {"\r\n\r\n", "xxxx"}) {
        const std::string bad = with_length(length, end);
        // In an uncompressed file, only the line before shows that a record begins.
        if (kPackings[i] == Packing::none && (end[0] == 'x' || std::string_view(length) < "99")) {
          if (end[0] == 'x' || std::string_view(length).size() == 3) continue;
        }
        TemporaryDirectory directory;
        std::string bytes;
        std::vector<uint64_t> places;
        for (const std::string& record : {good, bad, good, good, good}) {
          places.push_back(bytes.size());
          bytes += kPackings[i] == Packing::gz    ? gz(record)
                   : kPackings[i] == Packing::zst ? zst(record)
                                                  : record;
        }
        write_file(directory / kNames[i], bytes);
        FilesSourceOptions options{.paths = {directory / kNames[i]}};
        options.max_whole_bytes = 100'000;
        const Reading run = read(options);
        std::set<uint64_t> got;
        for (const Got& record : run.records)
          if (record.block == std::string(300, 'x')) got.insert(record.stored.value_or(1));
        for (const size_t whole : {0, 2, 3, 4})
          EXPECT_TRUE(got.contains(places[whole]))
              << kNames[i] << " " << length << " " << end << " " << whole;
      }
    }
  }
}

TEST(WarcFiles, AnImpossibleLengthCostsOneRecord) {
  for (const char* length : {"9223372036854775813", "18446744073709551615", "18446744073709551616",
                             "4611686018427387904", "1125899906842625", "-1", ""}) {
    SCOPED_TRACE(length);
    TemporaryDirectory directory;
    std::string bytes;
    for (int i = 0; i < 9; ++i) {
      const std::string record = warc_record(fmt::format("http://x/{}", i), fmt::format("text {}", i));
      const size_t at = record.find("Content-Length: ") + 16;
      bytes += i == 4 ? record.substr(0, at) + length + record.substr(record.find('\r', at)) : record;
    }
    write_file(directory / "a.warc", bytes);
    const Reading run = read({.paths = {directory / "a.warc"}});
    EXPECT_EQ(run.records.size(), 8u);
    EXPECT_EQ(run.problems.size(), 1u);
  }
}

// A file loses its end between the listing and the reading: each lost record is named, and the records of
// other files still come.
TEST(WarcFiles, AFileThatIsCutMeanwhile) {
  TemporaryDirectory directory;
  const auto dated = [](int day) {
    std::string record = warc_record(fmt::format("http://x/{}", day), fmt::format("text {}", day));
    return record.insert(10, fmt::format("WARC-Date: 2024-01-{:02}T00:00:00Z\r\n", day));
  };
  write_file(directory / "a.warc", dated(1) + dated(3) + dated(5));
  write_file(directory / "b.warc", dated(2) + dated(4) + dated(6));
  FilesSourceOptions options{.paths = {directory / "a.warc", directory / "b.warc"}};
  options.by_date = true;
  options.batch_records = 1;
  const std::unique_ptr<Source> source = must_open(options);
  std::filesystem::resize_file(directory / "a.warc", dated(1).size());
  size_t records = 0;
  std::vector<std::string> problems;
  Batch batch;
  while (*source->next(batch)) {
    records += batch.records.size();
    for (const Problem& problem : batch.problems) problems.push_back(problem.message);
  }
  EXPECT_EQ(records, 4u);
  EXPECT_THAT(problems, testing::ElementsAre(HasSubstr("a.warc"), HasSubstr("a.warc")));
}

// A file that is compressed with a dictionary begins with it, itself compressed or not.
TEST(WarcFiles, ADictionaryComesWithTheFile) {
  const std::string dictionary =
      warc_record("http://x/", "the words that all of these records have in common");
  for (const bool packed_too : {false, true}) {
    TemporaryDirectory directory;
    const std::string inside = packed_too ? zst(dictionary) : dictionary;
    std::string bytes(kZstDictionary);
    for (int shift = 0; shift < 32; shift += 8) bytes += static_cast<char>(inside.size() >> shift & 255);
    bytes += inside;
    std::vector<uint64_t> places;
    for (int i = 0; i < 3; ++i) {
      const std::string record =
          warc_record(fmt::format("http://x/{}", i), "the words that all of these records have in common");
      std::string out(ZSTD_compressBound(record.size()), '\0');
      ZSTD_CCtx* context = ZSTD_createCCtx();
      out.resize(ZSTD_compress_usingDict(context, out.data(), out.size(), record.data(), record.size(),
                                         dictionary.data(), dictionary.size(), 3));
      ZSTD_freeCCtx(context);
      EXPECT_LT(out.size(), 80u);  // it helps
      places.push_back(bytes.size());
      bytes += out;
    }
    write_file(directory / "a.warc.zst", bytes);
    const Reading run = read({.paths = {directory / "a.warc.zst"}});
    EXPECT_THAT(run.problems, testing::IsEmpty());
    ASSERT_EQ(run.records.size(), 3u);
    for (size_t i = 0; i < 3; ++i) EXPECT_EQ(run.records[i].stored, places[i]);
    // Reads a record by its place.
    const auto stream = make_byte_stream(Fd(::open((directory / "a.warc.zst").c_str(), O_RDONLY)),
                                         Packing::zst, std::make_shared<std::atomic<uint64_t>>(0), {},
                                         {places[2], bytes.size() - places[2]});
    std::string record(1000, '\0');
    const absl::StatusOr<size_t> got = stream->read(record.data(), record.size());
    ASSERT_TRUE(got.ok()) << got.status();
    EXPECT_THAT(record, HasSubstr("http://x/2"));
  }
}

// Both versions of ARC, compressed or not: the records come as WARC records, each with its place in the ARC
// file.
TEST(WarcFiles, ArcFilesAreReadAsWarcFiles) {
  for (const bool second : {false, true}) {
    for (const Packing packing : {Packing::none, Packing::gz}) {
      TemporaryDirectory directory;
      const std::string more = second ? " 200 - - 0 a.arc" : "";
      const std::string description = second ? "2 0 x\nURL ...\n" : "1 0 x\nURL ...\n";
      const std::string large(70'000, 'x');
      const std::vector<std::tuple<std::string, std::string, std::string>> records{
          {"filedesc://a.arc", "text/plain", description},
          {"http://x/a", "text/html", "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<p>one"},
          {"dns:x", "text/dns", "20240506070809\nx. 1 IN A 1.2.3.4\n"},
          {"http://x/empty", "text/html", ""},
          {"http://x/a b?c= 1 20240506 d", "text/html", "HTTP/1.1 200 OK\r\n\r\nspaces"},
          {"http://x/large", "text/html; charset=utf-8", "HTTP/1.1 200 OK\r\n\r\n" + large},
          {"http://x/b", "no-type", "gone"}};
      std::string bytes;
      std::vector<uint64_t> places;
      for (const auto& [url, type, block] : records) {
        const std::string record =
            fmt::format("{} 1.2.3.4 20240506070809 {}{} {}\n{}\n", url, type, more, block.size(), block);
        places.push_back(bytes.size());
        bytes += packing == Packing::gz ? gz(record) : record;
      }
      write_file(directory / "a.arc", bytes);
      FilesSourceOptions options{.paths = {directory / "a.arc"}};
      options.buffer_bytes = 1000;
      auto source = open_files_source(options, "");
      ASSERT_TRUE(source.ok());
      size_t i = 0;
      for (Batch batch; *(*source)->next(batch);) {
        for (const Problem& problem : batch.problems) ADD_FAILURE() << problem.message;
        for (const Record& record : batch.records) {
          const auto warc = parse_warc_record(record.value);
          ASSERT_TRUE(warc.ok());
          const auto& [url, type, block] = records.at(i);
          EXPECT_EQ(warc->target_uri, url);
          EXPECT_EQ(warc->date, "2024-05-06T07:08:09Z");
          EXPECT_EQ(warc->block, block);
          EXPECT_EQ(warc->type, i == 0                       ? WarcType::warcinfo
                                : block.starts_with("HTTP/") ? WarcType::response
                                                             : WarcType::resource);
          EXPECT_EQ(record.warc_offset, places.at(i));
          ++i;
        }
      }
      EXPECT_EQ(i, records.size());
    }
  }
}

// Everything outside the damage of an ARC file is read, with its place.
TEST(WarcFiles, ReadingGoesOnBehindDamageInArcFiles) {
  const uint64_t seed = std::random_device{}();
  SCOPED_TRACE(seed);
  std::mt19937_64 random(seed);
  for (int round = 0; round < 40; ++round) {
    TemporaryDirectory directory;
    const bool packed = round % 2 == 1, second = round % 4 >= 2;
    std::string bytes;
    std::vector<uint64_t> places;
    std::vector<std::string> blocks;
    for (int i = 0; i < 40; ++i) {
      std::string block =
          i == 0 ? fmt::format("{} 0 x\nURL ...\n", second ? 2 : 1) : std::string(random() % 4000, 'a');
      for (char& c : block)
        if (c == 'a') c = random() % 50 == 0 ? '\n' : static_cast<char>('b' + random() % 24);
      const std::string record = fmt::format("{} 1.2.3.4 20240506070809 text/plain{} {}\n{}\n",
                                             i == 0 ? "filedesc://a.arc" : fmt::format("http://x/{}", i),
                                             second ? " 200 - - 0 a.arc" : "", block.size(), block);
      places.push_back(bytes.size());
      blocks.push_back(std::move(block));
      bytes += packed ? gz(record) : record;
    }
    const uint64_t begin = places[1] + random() % (bytes.size() - places[1]),
                   end = std::min<uint64_t>(begin + 200, bytes.size());
    for (uint64_t at = begin; at < end; ++at) bytes[at] = static_cast<char>(0x80 | random() % 128);
    write_file(directory / "a.arc", bytes);
    FilesSourceOptions options{.paths = {directory / "a.arc"}};
    options.batch_records = 1 + random() % 20;
    options.buffer_bytes = 1 + random() % 10'000;
    const Reading run = read(options);
    std::map<uint64_t, std::string> got;
    for (const Got& record : run.records)
      if (record.stored) got[*record.stored] = record.block;
    for (size_t i = 0; i < places.size(); ++i) {
      const uint64_t behind = i + 1 < places.size() ? places[i + 1] : bytes.size();
      // A head behind damage is found at the begin of a line, whose end before it is damaged, too.
      if (places[i] <= end && begin < behind) continue;
      ASSERT_TRUE(got.contains(places[i])) << packed << second << " " << i << " " << begin;
      EXPECT_EQ(got[places[i]], blocks[i]);
    }
    EXPECT_GE(run.problems.size(), packed ? 1u : 0u);
    for (size_t i = 0; i < run.positions.size(); i += 1 + random() % 5) {
      const Reading rest = read(options, run.positions[i]);
      ASSERT_EQ(rest.records.size(), run.records.size() - run.counts[i]);
    }
  }
}

// A wrong length in a compressed ARC file, or one longer than the file, costs no other record either.
TEST(WarcFiles, AWrongLengthInAnArcFile) {
  for (const bool packed : {false, true}) {
    for (const int length : {1, 5, 40, 90, 5000, 100'000'000}) {
      if (!packed && length > 5 && length < 5000) continue;
      TemporaryDirectory directory;
      std::string bytes;
      for (int i = 0; i < 5; ++i) {
        const std::string record =
            fmt::format("http://x/{} 1.2.3.4 20240506070809 text/plain {}\nsome\n", i, i == 2 ? length : 4);
        const std::string whole =
            i == 0 ? "filedesc://a.arc 0.0.0.0 20240506070809 text/plain 4\n1 0 \n" : record;
        bytes += packed ? gz(whole) : whole;
      }
      write_file(directory / "a.arc", bytes);
      const Reading run = read({.paths = {directory / "a.arc"}});
      std::vector<std::string> blocks;
      for (const Got& record : run.records) blocks.push_back(record.block);
      EXPECT_THAT(blocks, testing::AnyOf(testing::SizeIs(4), testing::SizeIs(5))) << packed << " " << length;
      EXPECT_EQ(std::count(blocks.begin(), blocks.end(), "some"), 3) << packed << " " << length;
      EXPECT_EQ(run.problems.size(), length == 5 ? 0u : 1u) << packed << " " << length;
      for (const std::string& problem : run.problems)
        EXPECT_EQ(problem.find("gzip member") != std::string::npos, packed) << problem;
    }
  }
}

TEST(WarcFiles, SmallLettersToo) {
  TemporaryDirectory directory;
  std::string record = warc_record("http://x/", "a");
  record.replace(0, 4, "warc");
  write_file(directory / "a", record + record);
  EXPECT_EQ(read({.paths = {directory / "a"}}).records.size(), 2u);
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
  std::vector<Put> puts{{"a"}};
  write_file(directory / "b.warc", file_of(puts, Packing::none));
  Reading run = read({.paths = {directory.path()}});
  EXPECT_EQ(run.records.size(), 1u);
  ASSERT_EQ(run.problems.size(), 1u);
  EXPECT_THAT(run.problems, testing::Contains(HasSubstr("a.wacz: this WACZ file cannot be read")));
}

// Each record comes with its place in its own file.
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
    // From every place where a run can stop, the rest comes and nothing else; also if a run in between does
    // not name the file.
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
              HasSubstr(path + ": this WACZ file cannot be read: its central directory is missing"));
  EXPECT_THAT(problem("not a ZIP archive"), HasSubstr("it is not a ZIP archive"));
  EXPECT_THAT(problem(zipped({{"pages/pages.jsonl", "{}"}})), HasSubstr("there is no archive/*.warc"));
  EXPECT_THAT(
      problem(zipped({{"archive/a.warc", warc}}, {.pack = true})),
      testing::AllOf(HasSubstr(path + "/archive/a.warc: it is packed a second time"), HasSubstr("unpack")));
  EXPECT_THAT(problem(zipped({{"archive/../../a.warc", warc}})), HasSubstr("leads out of the archive"));
  EXPECT_THAT(problem(zipped({{"archive/a.warc", warc}}, {.encrypted = true})),
              HasSubstr(path + "/archive/a.warc: it is encrypted"));
  // A small archive cannot contain any number of large members.
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
  // Missing, wrong and too large offsets of the central directory.
  std::string large = zipped({{"archive/a.warc", warc}}, {.large = true});
  const size_t locator = large.rfind("PK\x06\x07");
  EXPECT_THAT(problem(std::string(large).replace(locator, 2, "xx")),
              HasSubstr("the offset of its central directory is missing"));
  EXPECT_THAT(problem(std::string(large).replace(locator + 8, 1, "\x01")),
              HasSubstr("the offset of its central directory is wrong"));
  EXPECT_THAT(problem(std::string(large).replace(locator + 15, 1, "\x01")),
              HasSubstr("an offset points beyond the end of the archive"));
  // Impossible sizes.
  std::string wrong = zipped({{"archive/a.warc", warc}}, {.large = true});
  const size_t sizes = wrong.rfind(std::string("\x01\0\x18\0", 4)) + 4;
  wrong.replace(sizes, 16, std::string(16, '\xff'));
  EXPECT_THAT(problem(wrong), HasSubstr(path + "/archive/a.warc: it extends beyond the end of the archive"));
  EXPECT_THAT(problem(zipped({{"archive/a.warc", warc.substr(0, 100)}})),
              HasSubstr(path + "/archive/a.warc: byte 0: the file ends"));
  // Whatever bytes are wrong, only a message comes of it.
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

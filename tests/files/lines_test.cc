// Line splitting against getline, and continuing from every position.

#include <gmock/gmock.h>

#include <random>

#include "files_testing.h"

namespace doppel {
namespace {

using testing::HasSubstr;

std::string random_content(std::mt19937_64& random, size_t lines) {
  std::string out = lines > 0 ? "first " : "";  // zeros alone may look like UTF-16
  for (size_t i = 0; i < lines; ++i) {
    size_t length = random() % 8 == 0 ? random() % 700 : random() % 40;
    for (size_t c = 0; c < length; ++c) out.push_back(static_cast<char>("ab\r\0{} "[random() % 7]));
    if (i + 1 < lines || random() % 2 == 0) out += random() % 5 == 0 ? "\r\n" : "\n";
  }
  return out;
}

FilesSourceOptions random_options(std::mt19937_64& random, std::vector<std::string> paths) {
  FilesSourceOptions options;
  options.paths = std::move(paths);
  options.batch_records = 1 + random() % 40;
  options.batch_bytes = 1 + random() % 3000;
  options.buffer_bytes = 1 + random() % 900;
  return options;
}

// Compresses into members or frames that are cut anywhere.
template <typename Pack>
std::string packed(std::mt19937_64& random, const std::string& content, Pack pack) {
  std::string out;
  for (size_t at = 0; at < content.size();) {
    size_t n = 1 + random() % content.size();
    out += pack(std::string_view(content).substr(at, n));
    at += n;
  }
  return out;
}

TEST(Lines, AsGetlineWhateverTheSizes) {
  uint64_t seed = std::random_device()();
  SCOPED_TRACE(seed);
  std::mt19937_64 random(seed);
  TemporaryDirectory directory;
  for (int round = 0; round < 150; ++round) {
    std::string content = random_content(random, random() % 60);
    std::string path = directory / "a.jsonl";
    switch (round % 3) {
      case 0:
        write_file(path, content);
        break;
      case 1:
        write_file(path += ".gz", packed(random, content, gz));
        break;
      default:
        write_file(path += ".zst", packed(random, content, zst));
    }
    FilesSourceOptions options = random_options(random, {path});
    if (round % 7 == 0) options.max_line_bytes = random() % 300;
    Taken taken = take_all(options);
    ASSERT_EQ(taken.lines, split_lines(content, options.max_line_bytes)) << round;
    size_t too_long = split_lines(content).size() - taken.lines.size();
    ASSERT_EQ(taken.problems.size(), too_long) << round;
  }
}

TEST(Lines, BatchesKeepToTheirLimits) {
  TemporaryDirectory directory;
  std::string content;
  for (int i = 0; i < 1000; ++i) content += std::string(i % 50, 'x') + "\n";
  write_file(directory / "a.jsonl", content);
  FilesSourceOptions options;
  options.paths = {directory.path()};
  options.batch_records = 10;
  options.batch_bytes = 200;
  auto source = must_open(options);
  EXPECT_EQ(source->bytes_total(), content.size());
  Batch batch;
  size_t full = 0;
  while (*source->next(batch)) {
    uint64_t bytes = 0;
    for (const Record& record : batch.records) bytes += record.value.size();
    EXPECT_EQ(bytes, batch.bytes);
    EXPECT_LE(batch.records.size(), 10u);
    EXPECT_LE(batch.bytes, 200u);
    full += batch.records.size() == 10 ? 1 : 0;
  }
  EXPECT_GT(full, 10u);
  EXPECT_EQ(source->bytes_read(), content.size());
}

TEST(Lines, ALongerLineIsTakenAlone) {
  TemporaryDirectory directory;
  write_file(directory / "a.jsonl", "short\n" + std::string(100'000, 'x') + "\nshort\n");
  FilesSourceOptions options;
  options.paths = {directory / "a.jsonl"};
  options.batch_bytes = 50;
  options.buffer_bytes = 64;
  Taken taken = take_all(options);
  EXPECT_EQ(taken.counts, (std::vector<size_t>{1, 2, 3}));
}

TEST(Lines, AnOverlongLineIsAProblemWithItsPlace) {
  TemporaryDirectory directory;
  for (std::string end : {"\n", ""}) {
    write_file(directory / "a.jsonl",
               "one\n" + std::string(1000, 'x') + "\nthree\n" + std::string(500, 'y') + end);
    FilesSourceOptions options;
    options.paths = {directory / "a.jsonl"};
    options.max_line_bytes = 99;
    options.buffer_bytes = 64;
    Taken taken = take_all(options);
    EXPECT_EQ(taken.lines, (std::vector<InputLine>{{"one", 0, 1}, {"three", 1005, 3}}));
    ASSERT_EQ(taken.problems.size(), 2u);
    EXPECT_THAT(taken.problems[0].message, HasSubstr("a.jsonl: line 2, byte 4: a line of 1000 bytes"));
    EXPECT_THAT(taken.problems[1].message, HasSubstr("a.jsonl: line 4, byte 1011: a line of 500 bytes"));
  }
}

// Several files, all compressions: whichever batch was the last one, the rest is the same.
TEST(Lines, GoOnAfterAnyBatch) {
  uint64_t seed = std::random_device()();
  SCOPED_TRACE(seed);
  std::mt19937_64 random(seed);
  for (int round = 0; round < 8; ++round) {
    TemporaryDirectory directory;
    write_file(directory / "1.jsonl", random_content(random, 30));
    write_file(directory / "2.jsonl.gz", packed(random, random_content(random, 30) + "x", gz));
    write_file(directory / "3.txt", "a whole file");
    write_file(directory / "4.json.zst", packed(random, random_content(random, 30) + "x", zst));
    write_file(directory / "5.ndjson", "");
    write_file(directory / "6.txt.gz", gz("another"));
    write_file(directory / "7.ndjson", random_content(random, 30));
    FilesSourceOptions options = random_options(random, {directory.path()});
    Taken all = take_all(options);
    ASSERT_GT(all.lines.size(), 60u);
    for (size_t i = 0; i < all.positions.size(); ++i) {
      Taken rest = take_all(options, all.positions[i]);
      ASSERT_EQ(rest.lines, std::vector<InputLine>(all.lines.begin() + static_cast<ptrdiff_t>(all.counts[i]),
                                                   all.lines.end()))
          << i;
      EXPECT_TRUE(rest.problems.empty());
      // Once more from there, with the carried position.
      if (rest.positions.size() < 2) continue;
      size_t j = random() % rest.positions.size();
      Taken last = take_all(options, rest.positions[j]);
      ASSERT_EQ(last.lines.size(), rest.lines.size() - rest.counts[j]);
    }
  }
}

TEST(Lines, OfAPipeThatIsSlow) {
  TemporaryDirectory directory;
  std::string fifo = directory / "pipe";
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  int go_on[2];  // the writer writes the rest when it is told
  ASSERT_EQ(::pipe(go_on), 0);
  pid_t child = ::fork();
  if (child == 0) {
    FILE* out = std::fopen(fifo.c_str(), "w");
    std::fputs("one\ntwo\nthr", out);
    std::fflush(out);
    char told = 0;
    if (::read(go_on[0], &told, 1) != 1) ::_exit(1);
    std::fputs("ee\nfour", out);
    std::fclose(out);
    ::_exit(0);
  }
  FilesSourceOptions options;
  options.paths = {fifo};
  auto source = must_open(options);
  EXPECT_EQ(source->bytes_total(), 0u);
  Batch batch;
  ASSERT_TRUE(*source->next(batch));
  EXPECT_EQ(batch.records.size(), 2u);  // it does not wait for a full batch
  ASSERT_EQ(::write(go_on[1], "!", 1), 1);
  Taken rest = take_all(*source);
  EXPECT_EQ(rest.lines, (std::vector<InputLine>{{"three", 8, 3}, {"four", 14, 4}}));
}

TEST(Lines, OutliveTheSource) {
  TemporaryDirectory directory;
  write_file(directory / "a.jsonl", "one\ntwo\n");
  FilesSourceOptions options;
  options.paths = {directory / "a.jsonl"};
  auto source = must_open(options);
  Batch batch;
  ASSERT_TRUE(*source->next(batch));
  source.reset();
  EXPECT_EQ(batch.records[1].value, "two");
  EXPECT_EQ(batch.records[1].source, directory / "a.jsonl");
}

}  // namespace
}  // namespace doppel

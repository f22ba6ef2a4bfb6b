// Copying rows from one Parquet file to another gives the same rows. python/tests/test_keep.py compares
// nested columns, types and metadata.
#include "files/parquet/row_copy.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <random>

#include "files/parquet_writer.h"
#include "files/tables_testing.h"

namespace doppel {
namespace {

using parquet::RowCopy;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const std::string kData = DOPPEL_SOURCE_DIR "/tests/files/data/parquet/";

absl::Status copy(const std::vector<std::pair<std::string, std::vector<uint64_t>>>& rows,
                  const std::string& to) {
  absl::StatusOr<std::unique_ptr<RowCopy>> out = RowCopy::open(to);
  if (!out.ok()) return out.status();
  for (const auto& [path, numbers] : rows) {
    if (const absl::Status status = (*out)->begin(path); !status.ok()) return status;
    for (const uint64_t row : numbers) (*out)->add(row);
    if (const absl::Status status = (*out)->end(); !status.ok()) return status;
  }
  return (*out)->finish();
}

std::vector<uint64_t> some_of(size_t rows, double share, std::mt19937& random) {
  std::vector<uint64_t> out;
  for (size_t i = 0; i < rows; ++i) {
    if (std::uniform_real_distribution<>()(random) < share) out.push_back(i);
  }
  return out;
}

TEST(RowCopy, GivesTheRowsOfEachWriter) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE(fmt::format("seed {}", seed));
  std::mt19937 random(seed);
  TemporaryDirectory d;
  size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(kData)) {
    if (entry.path().extension() != ".parquet") continue;
    const std::string path = entry.path().string();
    const Taken whole = take_all(of(path));
    for (const double share : {0.0, .1, .6, 1.0}) {
      const std::vector<uint64_t> rows = some_of(whole.lines.size(), share, random);
      const absl::Status status = copy({{path, rows}}, d / "out.parquet");
      ASSERT_TRUE(status.ok()) << status;
      const Taken copied = take_all(of(d / "out.parquet"));
      EXPECT_THAT(messages_of(copied), IsEmpty()) << path;
      ASSERT_EQ(copied.lines.size(), rows.size()) << path;
      for (size_t i = 0; i < rows.size(); ++i)
        EXPECT_EQ(copied.lines[i].value, whole.lines[rows[i]].value) << path << " row " << rows[i];
    }
    ++files;
  }
  EXPECT_GT(files, 58u);
}

TEST(RowCopy, JoinsFilesWithTheSameColumns) {
  TemporaryDirectory d;
  const std::string a = kData + "codec_snappy_v1.parquet", b = kData + "codec_zstd_v2.parquet";
  ASSERT_TRUE(copy({{a, {0, 7, 59}}, {b, {}}, {b, {30}}}, d / "out.parquet").ok());
  const Taken copied = take_all(of(d / "out.parquet")), whole = take_all(of(a));
  EXPECT_THAT(values_of(copied), ElementsAre(whole.lines[0].value, whole.lines[7].value,
                                             whole.lines[59].value, whole.lines[30].value));
}

TEST(RowCopy, WhatCannotBeCopiedIsNamedAndNothingIsWritten) {
  TemporaryDirectory d;
  const std::string a = kData + "codec_snappy_v1.parquet";
  WrittenColumn lost = text_column("text", {"1", "2", "3"});
  lost.chunk_at = 1 << 20;
  write_file(d / "lost.parquet", parquet_file({text_column("id", {"a", "b", "c"}), lost}, 3));
  write_file(d / "lines.jsonl", "{}\n");
  const std::vector<std::pair<absl::Status, std::string>> cases{
      {copy({{a, {1}}, {kData + "nested_beside.parquet", {}}}, d / "out.parquet"),
       "its columns are not those of " + a},
      {copy({{d / "lines.jsonl", {}}}, d / "out.parquet"), "only rows of Parquet files"},
      {copy({{d / "none.parquet", {}}}, d / "out.parquet"), "No such file"},
      {copy({}, d / "out.parquet"), "out.parquet is not written: no Parquet file was read"},
      {copy({{a, {60}}}, d / "out.parquet"), "the file has fewer rows than were read from it"},
      {copy({{d / "lost.parquet", {1}}}, d / "out.parquet"),
       "lost.parquet: row group 0: column \"text\": its 40 bytes at"}};
  for (const auto& [status, message] : cases) EXPECT_THAT(std::string(status.message()), HasSubstr(message));
  EXPECT_FALSE(std::filesystem::exists(d / "out.parquet"));
}

}  // namespace
}  // namespace doppel

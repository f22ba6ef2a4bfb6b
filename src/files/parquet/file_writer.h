#pragma once
// Writes a Parquet file: row group by row group, and in each of them column by column. Values are PLAIN, in
// pages of about a megabyte that are packed with zstd.

#include <zstd.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "files/parquet/schema.h"
#include "files/parquet/thrift_writer.h"
#include "files/parquet/values.h"
#include "files/whole_output.h"

namespace doppel::parquet {

class FileWriter {
 public:
  // Nothing is there under the name before finish().
  static absl::StatusOr<std::unique_ptr<FileWriter>> open(const std::string& path);

  // The next row group; its columns follow in the order of the schema.
  void begin_group() { groups_.emplace_back(); }
  void begin_column(const Leaf& leaf);
  // The next value of the column. Of one that is not there, levels.definition is smaller than the column's
  // depth.
  absl::Status add(const Depth& levels, const Cell& cell);
  absl::Status end_column();
  void end_group(uint64_t rows) { groups_.back().rows = rows; }

  // `schema` and `notes`: as Footer gives them.
  absl::Status finish(std::string_view schema, std::string_view notes);

 private:
  struct Chunk {
    std::vector<std::string> path;
    Stored stored = Stored::bytes;
    uint64_t begin = 0, values = 0, packed = 0, unpacked = 0;
  };
  struct Group {
    std::vector<Chunk> chunks;
    uint64_t rows = 0;
  };

  explicit FileWriter(std::unique_ptr<WholeOutput> file);
  void append_value(const Cell& cell);
  absl::Status end_page();
  absl::Status write(std::string_view bytes);
  void describe(const Chunk& chunk);

  std::unique_ptr<WholeOutput> file_;
  uint64_t at_ = 0;  // of the file
  std::unique_ptr<ZSTD_CCtx, size_t (*)(ZSTD_CCtx*)> zstd_;
  std::vector<Group> groups_;
  const Leaf* leaf_ = nullptr;  // of the column at hand
  // Of the page at hand.
  std::vector<uint32_t> definitions_, repetitions_;
  std::string values_;
  uint64_t bits_ = 0;  // of values that are truths
  uint64_t count_ = 0;
  std::string page_, packed_;
  ThriftWriter footer_;
};

}  // namespace doppel::parquet

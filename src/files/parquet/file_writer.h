#pragma once
// Writes a Parquet file, row group by row group, and in each group column by column. Values are encoded
// PLAIN, in pages of about 1 MiB, compressed with zstd.

#include <zstd.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "files/output_file.h"
#include "files/parquet/footer.h"
#include "files/parquet/thrift.h"
#include "files/parquet/values.h"

namespace doppel::parquet {

class FileWriter {
 public:
  // The file appears under its name only in finish().
  static absl::StatusOr<std::unique_ptr<FileWriter>> open(const std::string& path);

  // Begins the next row group. Its columns follow in the order of the schema.
  void begin_group() { groups_.emplace_back(); }
  void begin_column(const Leaf& leaf);
  // Adds the next value of the column. For a missing value, levels.definition is smaller than the column's
  // depth.
  absl::Status add(const Depth& levels, const Cell& cell);
  absl::Status end_column();
  void end_group(uint64_t rows) { groups_.back().rows = rows; }

  // Completes the file. `schema` and `notes` are in the form of Footer::schema() and Footer::notes().
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
  uint64_t at_ = 0;  // offset of the next byte in the file
  std::unique_ptr<ZSTD_CCtx, size_t (*)(ZSTD_CCtx*)> zstd_;
  std::vector<Group> groups_;
  const Leaf* leaf_ = nullptr;  // the current column
  // The current page:
  std::vector<uint32_t> definitions_, repetitions_;
  std::string values_;
  uint64_t bits_ = 0;  // number of boolean values
  uint64_t count_ = 0;
  std::string page_, packed_;
  ThriftWriter footer_;
};

}  // namespace doppel::parquet

#pragma once
// Copies rows of Parquet files into one file: all their columns, with their types, and in their order.

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "stream/files/fd.h"
#include "stream/files/parquet/file_writer.h"
#include "stream/files/parquet/footer.h"

namespace doppel::parquet {

class RowCopy {
 public:
  // Nothing is there under the name before finish().
  static absl::StatusOr<std::unique_ptr<RowCopy>> open(const std::string& to);

  // The file whose rows follow. The error: it is no Parquet file, or has other columns than the ones before.
  absl::Status begin(const std::string& path);
  // A row of this file; they come in ascending order.
  void add(uint64_t row) { rows_.push_back(row); }
  // Copies what was added. The error names the file, the row group and the column.
  absl::Status end();

  // InvalidArgument: no file was begun, so nothing says which columns there are.
  absl::Status finish();

 private:
  explicit RowCopy(std::unique_ptr<FileWriter> out) : out_(std::move(out)) {}
  absl::Status copy_group(const RowGroup& group, const std::vector<uint64_t>& rows);
  absl::Status copy_column(const Leaf& leaf, const Chunk& chunk, uint64_t rows_there,
                           const std::vector<uint64_t>& rows);

  std::unique_ptr<FileWriter> out_;
  std::string first_path_, schema_, notes_;  // of the first file
  std::vector<Leaf> leaves_;
  std::string path_;  // of the file at hand
  Fd fd_;
  std::unique_ptr<Footer> footer_;
  std::vector<uint64_t> rows_;
};

}  // namespace doppel::parquet

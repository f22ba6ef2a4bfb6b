#pragma once
// Copies rows of Parquet files into one file: all their columns, with their types, and in their order.

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "files/fd.h"
#include "files/parquet/file_writer.h"
#include "files/parquet/footer.h"
#include "files/parquet/kept_columns.h"

namespace doppel::parquet {

class RowCopy {
 public:
  // Nothing is there under the name before finish(). `columns` may know a file already.
  static absl::StatusOr<std::unique_ptr<RowCopy>> open(const std::string& to,
                                                       std::shared_ptr<KeptColumns> columns = nullptr);

  // The file whose rows follow. The error: it is no Parquet file, or has other columns than the ones before.
  absl::Status begin(const std::string& path);
  // A row of this file; they come in ascending order.
  void add(uint64_t row) { rows_.push_back(row); }
  // Copies what was added. The error names the file, the row group and the column.
  absl::Status end();

  // The file has no rows if none were added. The error: no file was admitted, so nothing says which columns
  // there are.
  absl::Status finish();

 private:
  RowCopy(std::string to, std::unique_ptr<FileWriter> out, std::shared_ptr<KeptColumns> columns)
      : to_(std::move(to)), out_(std::move(out)), kept_(std::move(columns)) {}
  absl::Status copy_group(const RowGroup& group, const std::vector<uint64_t>& rows);
  absl::Status copy_column(const Leaf& leaf, const Chunk& chunk, uint64_t rows_there,
                           const std::vector<uint64_t>& rows);

  std::string to_;
  std::unique_ptr<FileWriter> out_;
  std::shared_ptr<KeptColumns> kept_;
  std::string path_;  // of the file at hand
  Fd fd_;
  std::unique_ptr<Footer> footer_;
  std::vector<uint64_t> rows_;
};

}  // namespace doppel::parquet

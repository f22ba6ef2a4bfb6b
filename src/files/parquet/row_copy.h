#pragma once
// Copies rows of Parquet files into one file: all columns with their types, rows in their order.

#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "files/byte_stream.h"
#include "files/parquet/file_writer.h"
#include "files/parquet/footer.h"

namespace doppel::parquet {

// The columns of a Parquet file that rows of several files are copied to. They come from the first of these
// files that can be read.
class KeptColumns {
 public:
  // Takes the columns of the first file, and compares the columns of the following files. It is an error if
  // they differ or cannot be copied; the message does not name `path`.
  absl::Status admit(const std::string& path, const Footer& footer);
  // Whether a file was admitted.
  bool known() const { return !first_path_.empty(); }
  // Of the first file, as its footer stores them.
  const std::vector<Leaf>& leaves() const { return leaves_; }
  const std::string& schema() const { return schema_; }
  const std::string& notes() const { return notes_; }

 private:
  std::string first_path_, schema_, notes_;
  std::vector<Leaf> leaves_;
};

// Checks that each value of a row group can be copied, by reading all pages of all columns. The error names
// the column.
absl::Status check_group(const std::vector<Leaf>& leaves, const RowGroup& group, int fd);

// A page that unpacks to more bytes is not copied.
inline constexpr uint64_t kMostPageBytes = 512 << 20;

class RowCopy {
 public:
  // The file appears under its name only in finish(). `columns` may already hold the columns of a file.
  static absl::StatusOr<std::unique_ptr<RowCopy>> open(const std::string& to,
                                                       std::shared_ptr<KeptColumns> columns = nullptr);

  // Begins the file whose rows follow. It is an error if it is not a Parquet file, or if its columns differ
  // from those of earlier files.
  absl::Status begin(const std::string& path);
  // Adds a row of this file by number. Call it in ascending order.
  void add(uint64_t row) { rows_.push_back(row); }
  // Adds a row of this file with another text in this column.
  void add_with(uint64_t row, std::string_view column, std::string text) {
    texts_.emplace(row, Text{std::string(column), std::move(text)});
    add(row);
  }
  // Copies the rows that were added. The error names the file, the row group and the column.
  absl::Status end();

  // Completes the file, which has no rows if none were added. It is an error if no file was begun, because
  // then the columns are unknown.
  absl::Status finish();

 private:
  RowCopy(std::string to, std::unique_ptr<FileWriter> out, std::shared_ptr<KeptColumns> columns)
      : to_(std::move(to)), out_(std::move(out)), kept_(std::move(columns)) {}
  absl::Status copy_group(const RowGroup& group, uint64_t first, const std::vector<uint64_t>& rows);
  absl::Status copy_column(const Leaf& leaf, const Chunk& chunk, uint64_t rows_there, uint64_t first,
                           const std::vector<uint64_t>& rows);

  std::string to_;
  std::unique_ptr<FileWriter> out_;
  std::shared_ptr<KeptColumns> kept_;
  std::string path_;  // of the current input
  Fd fd_;
  std::unique_ptr<Footer> footer_;
  struct Text {
    std::string column, text;
  };
  std::vector<uint64_t> rows_;
  std::unordered_map<uint64_t, Text> texts_;  // by row of the current input
};

}  // namespace doppel::parquet

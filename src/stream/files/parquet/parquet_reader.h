#pragma once
// A Parquet file as records: each row is one, as a JSON object of the columns that the settings name.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "stream/buffers.h"
#include "stream/files/byte_stream.h"
#include "stream/files/files_source.h"
#include "stream/files/listing.h"
#include "stream/files/parquet/column_reader.h"
#include "stream/files/parquet/footer.h"
#include "stream/files/record_reader.h"

namespace doppel {

class ParquetReader final : public RecordReader {
 public:
  // Reads `file` from where `mark` says: its `lines` are rows, and its `offset` the place of their row group.
  // options.columns is set. All references outlive the reader. What is wrong with the file is a Problem that
  // names it, with row group and column; what was before it has been handed out. Of signed records
  // (InputFile::signed_records), the value is the bytes of their column.
  ParquetReader(const FilesSourceOptions& options, Filling& filling, const InputFile& file, Fd fd,
                ByteCounter counter, LineMark mark);

  State take(Batch& batch) override;
  LineMark mark() const override { return mark_; }

 private:
  void start(Batch& batch);
  absl::Status open_file();
  absl::Status begin_group();
  absl::Status read_row();
  std::string make_value();
  void hand_out(Batch& batch);
  State end();
  void damage(Batch& batch, std::string_view cause);
  absl::Status in_column(size_t column, const absl::Status& status) const;
  static absl::Status in_group(uint64_t group, const std::string& column, const absl::Status& status);

  const FilesSourceOptions& options_;
  Filling& filling_;
  const InputFile& file_;
  Fd fd_;
  ByteCounter counter_;
  LineMark mark_;
  uint64_t size_ = 0;     // of the file
  uint64_t counted_ = 0;  // of it, by the counter before it was opened
  uint64_t counter_at_start_ = 0;
  std::vector<parquet::Column> columns_;
  std::vector<std::string> members_;  // what precedes the value of each in JSON
  std::optional<parquet::Footer> footer_;
  parquet::RowGroup group_;                     // the one at hand
  std::vector<parquet::ColumnReader> readers_;  // of the group at hand, parallel to columns_
  std::vector<parquet::Cell> cells_;            // of the row at hand
  uint64_t groups_ = 0;                         // that were begun, this one too
  uint64_t left_ = 0;                           // rows of the group at hand that were not read
  uint64_t to_skip_ = 0;                        // rows that an earlier run has read
  std::string value_;                           // of the row at hand
  uint64_t value_bytes_ = 0;                    // of its cells
  bool has_row_ = false;                        // it was read, and not handed out
  bool in_group_ = false;
  bool started_ = false;
  bool ended_ = false;
};

}  // namespace doppel

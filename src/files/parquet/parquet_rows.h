#pragma once
// The rows of a Parquet file, row group by row group.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "files/byte_stream.h"
#include "files/parquet/column_reader.h"
#include "files/parquet/footer.h"
#include "files/parquet/row_copy.h"
#include "files/tables/rows.h"

namespace doppel::parquet {

class ParquetRows final : public tables::Rows {
 public:
  // A page that unpacks to more than page_bytes is an error. The JSON of a nested column is truncated at
  // row_bytes. Bytes that are read are added to `counter`. If `kept` is set, all columns will be copied:
  // the file must have the columns of `kept`, and a row group is read only if all of its pages can be.
  // Messages about other files call this one `path`.
  ParquetRows(Fd fd, uint64_t page_bytes, uint64_t row_bytes, ByteCounter counter, std::string path = {},
              std::shared_ptr<KeptColumns> kept = nullptr)
      : fd_(std::move(fd)),
        page_bytes_(page_bytes),
        row_bytes_(row_bytes),
        counter_(std::move(counter)),
        path_(std::move(path)),
        kept_(std::move(kept)) {}

  absl::StatusOr<std::vector<Column>> open(const FormatOptions& format, uint64_t skip) override;
  absl::StatusOr<bool> next(std::vector<Cell>& out) override;
  uint64_t place() const override { return place_; }
  std::optional<uint64_t> give_up() override;

 private:
  absl::StatusOr<bool> begin_group();
  absl::Status begin_column(size_t column, uint64_t skip);
  absl::Status in_column(size_t column, const absl::Status& status) const;

  Fd fd_;
  const uint64_t page_bytes_, row_bytes_;
  ByteCounter counter_;
  const std::string path_;
  const std::shared_ptr<KeptColumns> kept_;
  std::vector<Column> kept_columns_;   // the columns of kept_
  std::optional<Footer> kept_footer_;  // a second cursor over the footer, for kept_columns_
  RowGroup kept_group_;                // the current row group with kept_columns_
  std::vector<Column> columns_;
  std::optional<Footer> footer_;
  RowGroup group_;              // the current row group
  std::vector<Column> leaves_;  // the leaves of columns_, parallel to group_.chunks
  // Each column has one of the two readers.
  struct Reader {
    size_t first = 0;  // index of its first leaf
    std::optional<ColumnReader> values;
    std::optional<NestedReader> nested;
  };
  std::vector<Reader> readers_;         // parallel to columns_
  uint64_t groups_ = 0;                 // row groups that were begun, including the current one
  uint64_t left_ = 0;                   // rows of the current group not read yet
  bool readable_ = true;                // the footer's entry of the current group could be read
  uint64_t skipped_ = 0, to_skip_ = 0;  // rows that earlier runs have read, and rows still to be skipped
  uint64_t place_ = 0;
};

}  // namespace doppel::parquet

#pragma once
// The rows of a Parquet file, row group by row group.

#include <optional>
#include <vector>

#include "stream/files/byte_stream.h"
#include "stream/files/fd.h"
#include "stream/files/parquet/column_reader.h"
#include "stream/files/parquet/footer.h"
#include "stream/files/tables/rows.h"

namespace doppel::parquet {

class ParquetRows final : public tables::Rows {
 public:
  // A page that unpacks to more than page_bytes is an error. What is read is added to `counter`.
  ParquetRows(Fd fd, uint64_t page_bytes, ByteCounter counter)
      : fd_(std::move(fd)), page_bytes_(page_bytes), counter_(std::move(counter)) {}

  absl::StatusOr<std::vector<Column>> open(const FormatOptions& format, uint64_t skip) override;
  absl::StatusOr<bool> next(std::vector<Cell>& out) override;
  uint64_t place() const override { return place_; }

 private:
  absl::StatusOr<bool> begin_group();
  absl::Status in_column(size_t column, const absl::Status& status) const;

  Fd fd_;
  const uint64_t page_bytes_;
  ByteCounter counter_;
  std::vector<Column> columns_;
  std::optional<Footer> footer_;
  RowGroup group_;                      // the one at hand
  std::vector<ColumnReader> readers_;   // of the group at hand, parallel to columns_
  uint64_t groups_ = 0;                 // that were begun, this one too
  uint64_t left_ = 0;                   // rows of the group at hand that were not read
  uint64_t skipped_ = 0, to_skip_ = 0;  // rows that an earlier run has read, and those still ahead
  uint64_t place_ = 0;
};

}  // namespace doppel::parquet

#pragma once
// The rows of a Parquet file, row group by row group.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "files/byte_stream.h"
#include "files/fd.h"
#include "files/parquet/column_reader.h"
#include "files/parquet/footer.h"
#include "files/parquet/kept_columns.h"
#include "files/parquet/nested.h"
#include "files/tables/rows.h"

namespace doppel::parquet {

class ParquetRows final : public tables::Rows {
 public:
  // A page that unpacks to more than page_bytes is an error; what is longer than row_bytes in a row is cut
  // off. What is read is added to `counter`. With `kept`, all columns will be copied: the file must have
  // these, and a row group has rows only if all of its pages can be read. `path` is the name in messages
  // about other files.
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
  std::vector<Column> kept_columns_;   // of kept_
  std::optional<Footer> kept_footer_;  // as footer_, for them
  RowGroup kept_group_;                // as group_, for them
  std::vector<Column> columns_;
  std::optional<Footer> footer_;
  RowGroup group_;              // the one at hand
  std::vector<Column> leaves_;  // of columns_: the chunks of group_
  // A column is read by one of two.
  struct Reader {
    size_t first = 0;  // of leaves_
    std::optional<ColumnReader> values;
    std::optional<NestedReader> nested;
  };
  std::vector<Reader> readers_;         // of the group at hand, parallel to columns_
  uint64_t groups_ = 0;                 // that were begun, this one too
  uint64_t left_ = 0;                   // rows of the group at hand that were not read
  bool readable_ = true;                // what the footer says of the group at hand
  uint64_t skipped_ = 0, to_skip_ = 0;  // rows that an earlier run has read, and those still ahead
  uint64_t place_ = 0;
};

}  // namespace doppel::parquet

#pragma once
// Reads a table as records: each row is a JSON object of the columns that the settings name.

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "files/byte_stream.h"
#include "files/input_file.h"
#include "files/record_reader.h"
#include "files/tables/rows.h"
#include "formats/decoder.h"
#include "pipeline/buffers.h"

namespace doppel {
namespace tables {

// The column that holds signed records.
inline constexpr std::string_view kSignedRecord = "signed_record";

// Returns the columns that input.id, input.text and the other settings name, in the order of the file. A
// JSON pointer names a field inside structures; a structure keeps only the fields that are named. For each
// setting that differs from its default, at least one of its columns must exist; of input.scope, input.tags
// and input.passthrough, all must. The text must always exist, unless the format does not need it.
// Structures, lists and maps can only be passed through. An error names setting and column, and the column
// that may be meant.
absl::StatusOr<std::vector<Column>> choose_columns(const std::vector<Column>& columns,
                                                   const FormatOptions& format);

// Why a column or a part of it cannot be read, in words that follow its name; empty if it can.
std::string why_unreadable(const Column& column);

}  // namespace tables

class TableReader final : public RecordReader {
 public:
  // Reads `file`, which has `size` bytes, from `mark` on; its `lines` are rows, and its `tail` the bytes of
  // the rows behind them that were read though they may grow. options.columns must be set. All references
  // must outlive the reader. If the file is damaged, a Problem names it and the place; the rows before it
  // have been handed out. With InputFile::signed_records, the value is the content of their column.
  TableReader(const FilesSourceOptions& options, Filling& filling, const InputFile& file,
              std::unique_ptr<tables::Rows> rows, uint64_t size, ByteCounter counter, LineMark mark);

  State take(Batch& batch) override;
  LineMark mark() const override;

 private:
  void start(Batch& batch);
  absl::Status read_row();
  void hand_out(Batch& batch);
  State end();
  void damage(Batch& batch, std::string_view cause);

  const FilesSourceOptions& options_;
  Filling& filling_;
  const InputFile& file_;
  const std::unique_ptr<tables::Rows> rows_;
  ByteCounter counter_;
  LineMark mark_;
  const uint64_t size_;      // of the file
  tables::Rows::Open open_;  // of the rows that count in mark_
  uint64_t counted_ = 0;     // bytes of it that the counter had before the file was opened
  uint64_t counter_at_start_ = 0;
  std::vector<tables::Column> columns_;
  std::vector<std::string> members_;  // JSON before the value of each column
  std::vector<tables::Cell> cells_;   // of the current row
  std::string value_;                 // of the current row
  uint64_t value_bytes_ = 0;          // total bytes of its cells
  std::string damage_;                // why the current row is wrong; empty: it is not
  bool has_row_ = false;              // a row was read, and not handed out
  bool started_ = false;
  bool ended_ = false;
};

}  // namespace doppel

#pragma once
// A table as records: each row is one, as a JSON object of the columns that the settings name.

#include <memory>
#include <string>
#include <vector>

#include "files/byte_stream.h"
#include "files/input_file.h"
#include "files/options.h"
#include "files/record_reader.h"
#include "files/tables/rows.h"
#include "pipeline/buffers.h"

namespace doppel {

class TableReader final : public RecordReader {
 public:
  // Reads `file`, which has `size` bytes, from where `mark` says: its `lines` are rows. options.columns is
  // set. All references outlive the reader. What is wrong with the file is a Problem that names it, with the
  // place in it; what was before it has been handed out. Of signed records (InputFile::signed_records), the
  // value is the bytes of their column.
  TableReader(const FilesSourceOptions& options, Filling& filling, const InputFile& file,
              std::unique_ptr<tables::Rows> rows, uint64_t size, ByteCounter counter, LineMark mark);

  State take(Batch& batch) override;
  LineMark mark() const override { return mark_; }

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
  const uint64_t size_;   // of the file
  uint64_t counted_ = 0;  // of it, by the counter before it was opened
  uint64_t counter_at_start_ = 0;
  std::vector<tables::Column> columns_;
  std::vector<std::string> members_;  // what precedes the value of each in JSON
  std::vector<tables::Cell> cells_;   // of the row at hand
  std::string value_;                 // of the row at hand
  uint64_t value_bytes_ = 0;          // of its cells
  bool has_row_ = false;              // it was read, and not handed out
  bool started_ = false;
  bool ended_ = false;
};

}  // namespace doppel

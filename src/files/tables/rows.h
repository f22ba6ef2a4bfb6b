#pragma once
// The rows of a file that is a table. Each kind of file has one (parquet/, arrow/).

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "files/tables/column.h"
#include "formats/decoder.h"

namespace doppel::tables {

class Rows {
 public:
  virtual ~Rows() = default;
  // Looks at the file, and goes on behind its first `skip` rows. Returns the columns that the settings choose
  // (choice.h): the cells of each row. An error names what is wrong, without the file.
  virtual absl::StatusOr<std::vector<Column>> open(const FormatOptions& format, uint64_t skip) = 0;
  // The next row; its bytes live until the next call. False: there is none. The error says what is wrong, and
  // where.
  virtual absl::StatusOr<bool> next(std::vector<Cell>& out) = 0;
  // After an error of next(): how many rows are lost, from the next one on; next() reads
  // behind them. Nothing: the rest of the file is lost.
  virtual std::optional<uint64_t> give_up() { return std::nullopt; }
  // Where in the file the row at hand is, roughly: for progress.
  virtual uint64_t place() const = 0;
};

}  // namespace doppel::tables

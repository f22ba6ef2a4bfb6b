#pragma once
// The rows of a table in a file. parquet/ and arrow/ implement it.

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
  // Opens the file and moves behind its first `skip` rows. Returns the columns that the settings choose
  // (choice.h), which are the cells of each row. An error says what is wrong, without the file's name.
  virtual absl::StatusOr<std::vector<Column>> open(const FormatOptions& format, uint64_t skip) = 0;
  // Reads the next row; its bytes are valid until the next call. Returns false if there are no more. An
  // error says what is wrong, and where.
  virtual absl::StatusOr<bool> next(std::vector<Cell>& out) = 0;
  // Call it after an error of next(). Returns how many rows are lost, counted from the next one; next()
  // continues behind them. nullopt: the rest of the file is lost.
  virtual std::optional<uint64_t> give_up() { return std::nullopt; }
  // The approximate offset of the current row in the file, for progress.
  virtual uint64_t place() const = 0;
};

}  // namespace doppel::tables

#include "files/parquet/kept_columns.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/status.h"
#include "files/parquet/column_reader.h"

namespace doppel::parquet {
namespace {

// Describes the first difference.
std::string difference(const std::vector<Leaf>& there, const std::vector<Leaf>& here) {
  for (size_t i = 0; i < std::max(there.size(), here.size()); ++i) {
    if (i >= here.size()) return fmt::format("column \"{}\" is missing", there[i].column.name);
    if (i >= there.size()) return fmt::format("column \"{}\" is extra", here[i].column.name);
    if (there[i].path != here[i].path)
      return fmt::format("column \"{}\" instead of \"{}\"", here[i].column.name, there[i].column.name);
  }
  return "a column has a different type";
}

absl::Status check_column(const Leaf& leaf, const Chunk& chunk, uint64_t rows, int fd) {
  if (!chunk.unreadable.empty()) return absl::DataLossError(chunk.unreadable);
  const bool lists = leaf.depth.repetition > 0;
  const uint64_t values = lists ? chunk.values : rows;
  ColumnReader reader(leaf.column, leaf.depth, fd, kMostPageBytes,
                      std::make_shared<std::atomic<uint64_t>>(0));
  reader.begin(chunk, values);
  uint64_t begun = 0;
  for (uint64_t i = 0; i < values; ++i) {
    Depth levels;
    Cell cell;
    RETURN_IF_ERROR(reader.next(levels, cell));
    if (levels.repetition == 0) ++begun;
    if (begun == 0) return absl::DataLossError("it begins within a row");
  }
  if (begun != rows)
    return absl::DataLossError(fmt::format("it has {} rows, and its row group {}", begun, rows));
  return absl::OkStatus();
}

}  // namespace

absl::Status KeptColumns::admit(const std::string& path, const Footer& footer) {
  const std::vector<Leaf>& leaves = footer.leaves();
  if (known()) {
    if (footer.schema() == schema_) return absl::OkStatus();
    return invalid(
        fmt::format("its columns are not those of {} ({}); files with the same columns can be kept in one "
                    "file",
                    first_path_, difference(leaves_, leaves)));
  }
  for (const Leaf& leaf : leaves) {
    if (!leaf.column.unreadable.empty())
      return invalid(fmt::format("column \"{}\" is {}", leaf.column.name, leaf.column.unreadable));
  }
  leaves_ = leaves;
  first_path_ = path;
  schema_ = footer.schema();
  notes_ = footer.notes();
  return absl::OkStatus();
}

absl::Status check_group(const std::vector<Leaf>& leaves, const RowGroup& group, int fd) {
  for (size_t i = 0; i < leaves.size(); ++i) {
    const absl::Status status = check_column(leaves[i], group.chunks[i], group.rows, fd);
    if (status.ok()) continue;
    return {status.code(),
            absl_sv(fmt::format("column \"{}\": {}", leaves[i].column.name, std_sv(status.message())))};
  }
  return absl::OkStatus();
}

}  // namespace doppel::parquet

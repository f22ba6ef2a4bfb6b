#include "files/parquet/row_copy.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

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

namespace {

absl::Status in(const std::string& where, const absl::Status& status) {
  return {status.code(), absl_sv(fmt::format("{}: {}", where, std_sv(status.message())))};
}

}  // namespace

absl::StatusOr<std::unique_ptr<RowCopy>> RowCopy::open(const std::string& to,
                                                       std::shared_ptr<KeptColumns> columns) {
  ASSIGN_OR_RETURN(std::unique_ptr<FileWriter> out, FileWriter::open(to));
  if (columns == nullptr) columns = std::make_shared<KeptColumns>();
  return std::unique_ptr<RowCopy>(new RowCopy(to, std::move(out), std::move(columns)));
}

absl::Status RowCopy::begin(const std::string& path) {
  path_ = path;
  rows_.clear();
  texts_.clear();
  fd_ = Fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat info = {};
  if (!fd_.ok() || ::fstat(fd_.get(), &info) != 0) return io_error(path);
  const auto size = static_cast<uint64_t>(info.st_size);
  std::string head(std::min<uint64_t>(size, kMagic.size()), '\0');
  RETURN_IF_ERROR(read_at(fd_.get(), 0, head.data(), head.size()));
  if (head != kMagic)
    return invalid(fmt::format("{}: only rows of Parquet files are written to a Parquet file", path));
  absl::StatusOr<Footer> footer = Footer::read(fd_.get(), size);
  if (!footer.ok()) return in(path, footer.status());
  footer_ = std::make_unique<Footer>(*std::move(footer));
  const absl::Status admitted = kept_->admit(path, *footer_);
  if (!admitted.ok()) return in(path, admitted);
  return absl::OkStatus();
}

absl::Status RowCopy::end() {
  std::vector<Column> columns;
  columns.reserve(kept_->leaves().size());
  for (const Leaf& leaf : kept_->leaves()) columns.push_back(leaf.column);
  RowGroup group;
  uint64_t first = 0;  // number of the group's first row
  size_t next = 0;     // index in rows_
  for (uint64_t number = 0; next < rows_.size(); ++number) {
    const std::string where = fmt::format("{}: row group {}", path_, number);
    const absl::StatusOr<bool> more = footer_->next_group(columns, group);
    if (!more.ok()) return in(where, more.status());
    if (!*more)
      return absl::DataLossError(fmt::format("{}: the file has fewer rows than were read from it", path_));
    std::vector<uint64_t> rows;
    for (; next < rows_.size() && rows_[next] - first < group.rows; ++next)
      rows.push_back(rows_[next] - first);
    const absl::Status status = rows.empty() ? absl::OkStatus() : copy_group(group, first, rows);
    if (!status.ok()) return in(where, status);
    first += group.rows;
  }
  rows_.clear();
  texts_.clear();
  footer_.reset();
  fd_ = Fd();
  return absl::OkStatus();
}

absl::Status RowCopy::copy_group(const RowGroup& group, uint64_t first, const std::vector<uint64_t>& rows) {
  const std::vector<Leaf>& leaves = kept_->leaves();
  out_->begin_group();
  for (size_t i = 0; i < leaves.size(); ++i) {
    const absl::Status status = copy_column(leaves[i], group.chunks[i], group.rows, first, rows);
    if (!status.ok()) return in(fmt::format("column \"{}\"", leaves[i].column.name), status);
  }
  out_->end_group(rows.size());
  return absl::OkStatus();
}

// A row extends from a value with repetition level 0 to the next such value.
absl::Status RowCopy::copy_column(const Leaf& leaf, const Chunk& chunk, uint64_t rows_there, uint64_t first,
                                  const std::vector<uint64_t>& rows) {
  if (!chunk.unreadable.empty()) return absl::DataLossError(chunk.unreadable);
  const uint64_t values = leaf.depth.repetition == 0 ? rows_there : chunk.values;
  ColumnReader reader(leaf.column, leaf.depth, fd_.get(), kMostPageBytes,
                      std::make_shared<std::atomic<uint64_t>>(0));
  reader.begin(chunk, values);
  out_->begin_column(leaf);
  uint64_t row = 0;     // number of the row that begins next
  size_t wanted = 0;    // index in rows
  bool inside = false;  // inside a row that is copied
  for (uint64_t i = 0; i < values; ++i) {
    Depth levels;
    Cell cell;
    RETURN_IF_ERROR(reader.next(levels, cell));
    if (levels.repetition == 0) {
      if (wanted == rows.size()) break;
      inside = rows[wanted] == row++;
      if (inside) {
        const auto text = texts_.find(first + rows[wanted++]);
        if (text != texts_.end() && text->second.column == leaf.column.name) cell.bytes = text->second.text;
      }
    }
    if (inside) RETURN_IF_ERROR(out_->add(levels, cell));
  }
  if (wanted < rows.size()) return absl::DataLossError(fmt::format("it has only {} rows", row));
  return out_->end_column();
}

absl::Status RowCopy::finish() {
  if (!kept_->known()) {
    return absl::DataLossError(
        fmt::format("{} is not written: no Parquet file was read, so its columns are unknown", to_));
  }
  return out_->finish(kept_->schema(), kept_->notes());
}

}  // namespace doppel::parquet

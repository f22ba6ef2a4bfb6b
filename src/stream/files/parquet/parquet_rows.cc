#include "stream/files/parquet/parquet_rows.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>

#include "base/status.h"
#include "stream/files/tables/choice.h"

namespace doppel::parquet {
namespace {

absl::Status in_group(uint64_t group, const std::string& column, const absl::Status& status) {
  if (status.ok()) return status;
  return {status.code(), absl_sv(fmt::format("row group {}, {}{}", group, column, std_sv(status.message())))};
}

}  // namespace

absl::StatusOr<std::vector<Column>> ParquetRows::open(const FormatOptions& format, uint64_t skip) {
  skipped_ = to_skip_ = skip;
  struct stat info = {};
  if (::fstat(fd_.get(), &info) != 0) return io_error("cannot be read");
  ASSIGN_OR_RETURN(footer_, Footer::read(fd_.get(), static_cast<uint64_t>(info.st_size)));
  ASSIGN_OR_RETURN(columns_, tables::choose_columns(footer_->columns(), format));
  for (const Column& column : columns_)
    readers_.emplace_back(column, fd_.get(), std::min<uint64_t>(page_bytes_, INT32_MAX), counter_);
  return columns_;
}

// The next one that has rows which no earlier run has read. False: there is none.
absl::StatusOr<bool> ParquetRows::begin_group() {
  while (true) {
    const absl::StatusOr<bool> next = footer_->next_group(columns_, group_);
    if (!next.ok()) return in_group(groups_, {}, next.status());
    if (!*next && to_skip_ > 0) {
      return absl::DataLossError(
          fmt::format("the file has fewer rows than the {} that were read of it earlier", skipped_));
    }
    if (!*next) return false;
    ++groups_;
    if (group_.rows > to_skip_) break;
    to_skip_ -= group_.rows;
  }
  left_ = group_.rows - to_skip_;
  for (size_t i = 0; i < columns_.size(); ++i) {
    const Chunk& chunk = group_.chunks[i];
    if (!chunk.unreadable.empty()) return in_column(i, absl::DataLossError(chunk.unreadable));
    readers_[i].begin(chunk, group_.rows);
    if (to_skip_ > 0) RETURN_IF_ERROR(in_column(i, readers_[i].skip(to_skip_)));
    if (i == 0) place_ = chunk.begin;
  }
  to_skip_ = 0;
  return true;
}

absl::StatusOr<bool> ParquetRows::next(std::vector<Cell>& out) {
  if (left_ == 0) {
    ASSIGN_OR_RETURN(const bool more, begin_group());
    if (!more) return false;
  }
  for (size_t i = 0; i < readers_.size(); ++i) RETURN_IF_ERROR(in_column(i, readers_[i].next(out[i])));
  --left_;
  return true;
}

absl::Status ParquetRows::in_column(size_t column, const absl::Status& status) const {
  if (status.ok()) return status;
  return in_group(groups_ - 1, fmt::format("column \"{}\": ", columns_[column].name), status);
}

}  // namespace doppel::parquet

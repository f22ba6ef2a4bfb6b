#include "files/parquet/parquet_rows.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <utility>

#include "base/status.h"
#include "files/tables/table_reader.h"

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
  if (kept_ != nullptr) {
    RETURN_IF_ERROR(kept_->admit(path_, *footer_));
    for (const Leaf& leaf : kept_->leaves()) kept_columns_.push_back(leaf.column);
    kept_footer_ = footer_;
  }
  readers_.resize(columns_.size());
  for (size_t i = 0; i < columns_.size(); ++i) {
    readers_[i].first = leaves_.size();
    add_leaves(columns_[i], leaves_);
  }
  const uint64_t page_bytes = std::min<uint64_t>(page_bytes_, INT32_MAX);
  for (size_t i = 0; i < columns_.size(); ++i) {
    if (columns_[i].kind == Kind::value) {
      readers_[i].values.emplace(columns_[i], fd_.get(), page_bytes, counter_);
    } else {
      readers_[i].nested.emplace(columns_[i], &leaves_[readers_[i].first], fd_.get(), page_bytes, row_bytes_,
                                 counter_);
    }
  }
  return columns_;
}

// Begins the next row group with rows that no earlier run has read. Returns false if there is none.
absl::StatusOr<bool> ParquetRows::begin_group() {
  while (true) {
    absl::StatusOr<bool> next = footer_->next_group(leaves_, group_);
    if (next.ok() && kept_footer_) next = kept_footer_->next_group(kept_columns_, kept_group_);
    readable_ = next.ok();
    if (!next.ok()) return in_group(groups_, {}, next.status());
    if (!*next && to_skip_ > 0) {
      readable_ = false;
      return absl::DataLossError(
          fmt::format("the file has fewer rows than the {} that were read from it earlier", skipped_));
    }
    if (!*next) return false;
    ++groups_;
    if (group_.rows > to_skip_) break;
    to_skip_ -= group_.rows;
  }
  left_ = group_.rows - to_skip_;
  const uint64_t skip = std::exchange(to_skip_, 0);
  for (size_t i = 0; i < columns_.size(); ++i) {
    RETURN_IF_ERROR(begin_column(i, skip));
    if (i == 0) place_ = group_.chunks[i].begin;
  }
  if (kept_ != nullptr)
    RETURN_IF_ERROR(in_group(groups_ - 1, {}, check_group(kept_->leaves(), kept_group_, fd_.get())));
  return true;
}

absl::Status ParquetRows::begin_column(size_t column, uint64_t skip) {
  Reader& reader = readers_[column];
  const Chunk* chunks = &group_.chunks[reader.first];
  if (reader.nested) return in_group(groups_ - 1, {}, reader.nested->begin(chunks, group_.rows, skip));
  if (!chunks->unreadable.empty()) return in_column(column, absl::DataLossError(chunks->unreadable));
  reader.values->begin(*chunks, group_.rows);
  return skip == 0 ? absl::OkStatus() : in_column(column, reader.values->skip(skip));
}

absl::StatusOr<bool> ParquetRows::next(std::vector<Cell>& out) {
  if (left_ == 0) {
    ASSIGN_OR_RETURN(const bool more, begin_group());
    if (!more) return false;
  }
  for (size_t i = 0; i < readers_.size(); ++i) {
    if (readers_[i].values) {
      RETURN_IF_ERROR(in_column(i, readers_[i].values->next(out[i])));
    } else {
      out[i].there = true;
      RETURN_IF_ERROR(in_group(groups_ - 1, {}, readers_[i].nested->next(out[i].bytes)));
    }
  }
  --left_;
  return true;
}

std::optional<uint64_t> ParquetRows::give_up() {
  struct stat info = {};
  const bool same_file =
      ::fstat(fd_.get(), &info) == 0 && static_cast<uint64_t>(info.st_size) == footer_->file_size();
  if (!readable_ || !same_file) return std::nullopt;
  return std::exchange(left_, 0);
}

absl::Status ParquetRows::in_column(size_t column, const absl::Status& status) const {
  if (status.ok()) return status;
  return in_group(groups_ - 1, fmt::format("column \"{}\": ", columns_[column].name), status);
}

}  // namespace doppel::parquet

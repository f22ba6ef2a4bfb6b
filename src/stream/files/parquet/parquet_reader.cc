#include "stream/files/parquet/parquet_reader.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstring>

#include "base/status.h"
#include "formats/presets.h"
#include "stream/files/parquet/choice.h"
#include "stream/files/parquet/row_json.h"

namespace doppel {
namespace {

// A page may hold many texts; a writer looks at its size after each thousand or so.
constexpr uint64_t kPageBytes = 512 << 20;

}  // namespace

ParquetReader::ParquetReader(const FilesSourceOptions& options, Filling& filling, const InputFile& file,
                             Fd fd, ByteCounter counter, LineMark mark)
    : options_(options),
      filling_(filling),
      file_(file),
      fd_(std::move(fd)),
      counter_(std::move(counter)),
      mark_(std::move(mark)),
      to_skip_(mark_.lines) {
  mark_.path = file.path;
  mark_.disk_length = 0;
}

RecordReader::State ParquetReader::take(Batch& batch) {
  if (!started_) start(batch);
  while (batch.records.size() < options_.batch_records && batch.problems.size() < options_.batch_records) {
    if (ended_) return end();
    absl::Status status = in_group_ ? absl::OkStatus() : begin_group();
    if (status.ok() && in_group_ && !has_row_) status = read_row();
    if (!status.ok()) {
      damage(batch, std_sv(status.message()));
    } else if (has_row_) {
      if (!batch.records.empty() && batch.bytes + value_.size() > options_.batch_bytes) return State::full;
      hand_out(batch);
    }
    if (left_ == 0 && !has_row_) in_group_ = false;
  }
  return State::full;
}

void ParquetReader::start(Batch& batch) {
  started_ = true;
  const absl::Status status = open_file();
  if (status.ok()) return;
  ended_ = true;
  batch.problems.push_back(
      {file_.path, 0, 0, fmt::format("{}: {}", file_.shown(), std_sv(status.message()))});
}

absl::Status ParquetReader::open_file() {
  struct stat info = {};
  if (::fstat(fd_.get(), &info) != 0) return io_error("cannot be read");
  size_ = static_cast<uint64_t>(info.st_size);
  counted_ = mark_.offset;
  counter_at_start_ = counter_->load(std::memory_order_relaxed);
  ASSIGN_OR_RETURN(footer_, parquet::Footer::read(fd_.get(), size_));
  ASSIGN_OR_RETURN(columns_, parquet::choose_columns(footer_->columns(), *options_.columns));
  const uint64_t page_bytes = std::max<uint64_t>(kPageBytes, 2 * options_.max_line_bytes);
  for (const parquet::Column& column : columns_) {
    readers_.emplace_back(column, fd_.get(), std::min<uint64_t>(page_bytes, INT32_MAX), counter_);
    members_.emplace_back(members_.empty() ? "{" : ",");
    append_json_member(members_.back(), column.name);
  }
  cells_.resize(columns_.size());
  return absl::OkStatus();
}

// The next one that has rows which no earlier run has read.
absl::Status ParquetReader::begin_group() {
  while (true) {
    const absl::StatusOr<bool> next = footer_->next_group(columns_, group_);
    if (!next.ok()) return in_group(groups_, {}, next.status());
    ended_ = !*next;
    if (ended_ && to_skip_ > 0) {
      return absl::DataLossError(
          fmt::format("the file has fewer rows than the {} that were read of it earlier", mark_.lines));
    }
    if (ended_) return absl::OkStatus();
    ++groups_;
    if (group_.rows > to_skip_) break;
    to_skip_ -= group_.rows;
  }
  in_group_ = true;
  left_ = group_.rows - to_skip_;
  for (size_t i = 0; i < columns_.size(); ++i) {
    const parquet::Chunk& chunk = group_.chunks[i];
    if (!chunk.unreadable.empty()) return in_column(i, absl::DataLossError(chunk.unreadable));
    readers_[i].begin(chunk, group_.rows);
    if (to_skip_ > 0) RETURN_IF_ERROR(in_column(i, readers_[i].skip(to_skip_)));
    if (i == 0) mark_.offset = chunk.begin;
  }
  to_skip_ = 0;
  return absl::OkStatus();
}

absl::Status ParquetReader::read_row() {
  value_bytes_ = 0;
  for (size_t i = 0; i < readers_.size(); ++i) {
    RETURN_IF_ERROR(in_column(i, readers_[i].next(cells_[i])));
    value_bytes_ += cells_[i].bytes.size();
  }
  --left_;
  has_row_ = true;
  value_.clear();
  if (value_bytes_ > options_.max_line_bytes) return absl::OkStatus();
  if (file_.signed_records) {
    value_ = cells_[0].bytes;
    return absl::OkStatus();
  }
  for (size_t i = 0; i < columns_.size(); ++i) {
    value_ += members_[i];
    parquet::append_json(columns_[i], cells_[i], value_);
  }
  value_ += '}';
  return absl::OkStatus();
}

void ParquetReader::hand_out(Batch& batch) {
  const uint64_t row = mark_.lines++;
  has_row_ = false;
  const uint64_t bytes = std::max<uint64_t>(value_bytes_, value_.size());
  if (bytes > options_.max_line_bytes) {
    batch.problems.push_back({file_.path, 0, row,
                              fmt::format("{}: row {}: {} bytes, more than the {} that are allowed; skipped",
                                          file_.shown(), row, bytes, options_.max_line_bytes)});
    return;
  }
  const size_t at = filling_.make_room(filling_.end(), value_.size());
  std::memcpy(filling_.data() + at, value_.data(), value_.size());
  filling_.appended(value_.size());
  Record& record = batch.records.emplace_back();
  record.value = {filling_.data() + at, value_.size()};
  record.source = file_.source();
  record.offset = row;
  record.row = true;
  batch.bytes += value_.size();
  filling_.used_by(batch);
}

RecordReader::State ParquetReader::end() {
  // The columns that were not needed count as read.
  const uint64_t read = counted_ + counter_->load(std::memory_order_relaxed) - counter_at_start_;
  if (read < size_) counter_->fetch_add(size_ - read, std::memory_order_relaxed);
  // What is damaged is not tried again either, unless the file grows.
  mark_.offset = size_;
  mark_.disk_length = std::max<uint64_t>(size_, 1);
  return State::ended;
}

void ParquetReader::damage(Batch& batch, std::string_view cause) {
  ended_ = true;
  has_row_ = false;
  batch.problems.push_back(
      {file_.path, 0, mark_.lines,
       fmt::format("{}: {}; rows from {} on are not read", file_.shown(), cause, mark_.lines)});
}

absl::Status ParquetReader::in_column(size_t column, const absl::Status& status) const {
  if (status.ok()) return status;
  return in_group(groups_ - 1, fmt::format("column \"{}\": ", columns_[column].name), status);
}

absl::Status ParquetReader::in_group(uint64_t group, const std::string& column, const absl::Status& status) {
  if (status.ok()) return status;
  return {status.code(), absl_sv(fmt::format("row group {}, {}{}", group, column, std_sv(status.message())))};
}

}  // namespace doppel

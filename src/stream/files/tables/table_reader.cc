#include "stream/files/tables/table_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/status.h"
#include "formats/presets.h"
#include "stream/files/tables/row_json.h"

namespace doppel {

TableReader::TableReader(const FilesSourceOptions& options, Filling& filling, const InputFile& file,
                         std::unique_ptr<tables::Rows> rows, uint64_t size, ByteCounter counter,
                         LineMark mark)
    : options_(options),
      filling_(filling),
      file_(file),
      rows_(std::move(rows)),
      counter_(std::move(counter)),
      mark_(std::move(mark)),
      size_(size) {
  mark_.path = file.path;
  mark_.disk_length = 0;
}

RecordReader::State TableReader::take(Batch& batch) {
  if (!started_) start(batch);
  while (batch.records.size() < options_.batch_records && batch.problems.size() < options_.batch_records) {
    if (!ended_ && !has_row_) {
      const absl::Status status = read_row();
      if (!status.ok()) damage(batch, std_sv(status.message()));
    }
    if (ended_) return end();
    if (!batch.records.empty() && batch.bytes + value_.size() > options_.batch_bytes) return State::full;
    hand_out(batch);
  }
  return State::full;
}

void TableReader::start(Batch& batch) {
  started_ = true;
  counted_ = mark_.offset;
  counter_at_start_ = counter_->load(std::memory_order_relaxed);
  absl::StatusOr<std::vector<tables::Column>> columns = rows_->open(*options_.columns, mark_.lines);
  if (!columns.ok()) {
    ended_ = true;
    batch.problems.push_back(
        {file_.path, 0, 0, fmt::format("{}: {}", file_.shown(), std_sv(columns.status().message()))});
    return;
  }
  columns_ = *std::move(columns);
  for (const tables::Column& column : columns_) {
    members_.emplace_back(members_.empty() ? "{" : ",");
    append_json_member(members_.back(), column.name);
  }
  cells_.resize(columns_.size());
}

absl::Status TableReader::read_row() {
  ASSIGN_OR_RETURN(const bool more, rows_->next(cells_));
  if (!more) {
    ended_ = true;
    return absl::OkStatus();
  }
  has_row_ = true;
  mark_.offset = rows_->place();
  value_bytes_ = 0;
  for (const tables::Cell& cell : cells_) value_bytes_ += cell.bytes.size();
  value_.clear();
  if (value_bytes_ > options_.max_line_bytes) return absl::OkStatus();
  if (file_.signed_records) {
    value_ = cells_[0].bytes;
    return absl::OkStatus();
  }
  for (size_t i = 0; i < columns_.size(); ++i) {
    value_ += members_[i];
    tables::append_json(columns_[i], cells_[i], value_);
  }
  value_ += '}';
  return absl::OkStatus();
}

void TableReader::hand_out(Batch& batch) {
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

RecordReader::State TableReader::end() {
  // The columns that were not needed count as read.
  const uint64_t read = counted_ + counter_->load(std::memory_order_relaxed) - counter_at_start_;
  if (read < size_) counter_->fetch_add(size_ - read, std::memory_order_relaxed);
  // What is damaged is not tried again either, unless the file grows.
  mark_.offset = size_;
  mark_.disk_length = std::max<uint64_t>(size_, 1);
  return State::ended;
}

void TableReader::damage(Batch& batch, std::string_view cause) {
  ended_ = true;
  has_row_ = false;
  batch.problems.push_back(
      {file_.path, 0, mark_.lines,
       fmt::format("{}: {}; rows from {} on are not read", file_.shown(), cause, mark_.lines)});
}

}  // namespace doppel

#include "files/tables/table_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <optional>

#include "base/status.h"
#include "files/tables/row_json.h"
#include "files/within_memory.h"
#include "formats/presets.h"

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
      const absl::Status status = within_memory([&] { return read_row(); });
      if (!status.ok()) damage(batch, std_sv(status.message()));
    }
    if (ended_) return end();
    if (!has_row_) continue;
    if (!batch.records.empty() && batch.bytes + value_.size() > options_.batch_bytes) return State::full;
    hand_out(batch);
  }
  return State::full;
}

void TableReader::start(Batch& batch) {
  started_ = true;
  counted_ = mark_.offset;
  counter_at_start_ = counter_->load(std::memory_order_relaxed);
  const absl::Status opened = within_memory([&] {
    ASSIGN_OR_RETURN(columns_, rows_->open(*options_.columns, mark_.lines));
    return absl::OkStatus();
  });
  if (!opened.ok()) {
    ended_ = true;
    batch.problems.push_back(
        {file_.path, 0, 0, fmt::format("{}: {}", file_.shown(), std_sv(opened.message()))});
    return;
  }
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
  if (options_.layout == Layout::signed_records) {
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
  const auto skip = [&](const std::string& cause) {
    batch.problems.push_back(
        {file_.path, 0, row, fmt::format("{}: row {}: {}; skipped", file_.shown(), row, cause)});
  };
  const uint64_t bytes = std::max<uint64_t>(value_bytes_, value_.size());
  if (bytes > options_.max_line_bytes)
    return skip(fmt::format("{} bytes, more than the {} that are allowed", bytes, options_.max_line_bytes));
  size_t at = 0;
  const absl::Status room = within_memory([&] {
    at = filling_.make_room(filling_.end(), value_.size());
    return absl::OkStatus();
  });
  if (!room.ok()) return skip(std::string(room.message()));
  if (!value_.empty()) std::memcpy(filling_.data() + at, value_.data(), value_.size());
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
  // Columns that were not chosen count as read.
  const uint64_t read = counted_ + counter_->load(std::memory_order_relaxed) - counter_at_start_;
  if (read < size_) counter_->fetch_add(size_ - read, std::memory_order_relaxed);
  // Damaged data is not read again unless the file grows.
  mark_.offset = size_;
  mark_.disk_length = std::max<uint64_t>(size_, 1);
  return State::ended;
}

// Reports the damaged rows and continues behind them, if their number is known.
void TableReader::damage(Batch& batch, std::string_view cause) {
  has_row_ = false;
  const uint64_t first = mark_.lines;
  const std::optional<uint64_t> lost = rows_->give_up();
  // More rows than a file can have: the file's numbers are wrong.
  ended_ = !lost || *lost == 0 || *lost > INT64_MAX - first;
  if (!ended_) mark_.lines += *lost;
  batch.problems.push_back(
      {file_.path, 0, first,
       fmt::format("{}: {}; {}", file_.shown(), cause,
                   ended_       ? fmt::format("rows from {} on are not read", first)
                   : *lost == 1 ? fmt::format("row {} is not read", first)
                                : fmt::format("rows {} to {} are not read", first, mark_.lines - 1))});
}

}  // namespace doppel

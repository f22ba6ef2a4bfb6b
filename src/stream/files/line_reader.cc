#include "stream/files/line_reader.h"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <cstring>

#include "base/status.h"

namespace doppel {
namespace {

constexpr auto kPatience = std::chrono::milliseconds(20);
constexpr size_t kSmallRead = 64 << 10;  // less room than this is not worth a system call

}  // namespace

LineReader::LineReader(const FilesSourceOptions& options, Filling& filling, const InputFile& file, Fd fd,
                       ByteCounter counter, LineMark mark, bool live)
    : options_(options),
      filling_(filling),
      file_(file),
      fd_(fd.get()),
      stream_(make_byte_stream(std::move(fd), file.packing, std::move(counter))),
      mark_(std::move(mark)),
      delivered_tail_(mark_.tail),
      live_(live) {
  mark_.path = file.path;
  mark_.disk_length = 0;
  mark_.tail = 0;
  // An unfinished last line is looked at again: it may have become longer.
  mark_.offset -= delivered_tail_;
  if (delivered_tail_ > 0) --mark_.lines;
}

LineMark LineReader::mark() const {
  LineMark mark = mark_;
  if (delivered_tail_ > 0) {
    mark.offset += delivered_tail_;
    mark.lines += 1;
    mark.tail = delivered_tail_;
  }
  return mark;
}

uint64_t LineReader::open_bytes() const {
  const uint64_t open = started_ ? skipped_ + (filling_.end() - begin_) : 0;
  return open - std::min(open, delivered_tail_);
}

void LineReader::skip_to_start(Batch& batch) {
  started_ = true;
  // Records of different files never touch: what follows a record is never taken for its end.
  begin_ = filling_.make_room(filling_.end(), 1);
  filling_.data()[begin_++] = '\n';
  filling_.appended(1);
  scanned_ = begin_;
  if (mark_.offset == 0) return;
  if (file_.packing == Packing::none) {
    if (::lseek(fd_, static_cast<off_t>(mark_.offset), SEEK_SET) >= 0) return;
    batch.problems.push_back(make_problem(file_.path, 0, mark_.offset, system_cause()));
    damaged_ = ended_ = true;
    return;
  }
  std::unique_ptr<char[]> scratch(new char[kSmallRead]);
  for (uint64_t left = mark_.offset; left > 0;) {
    absl::StatusOr<size_t> got = stream_->read(scratch.get(), std::min<uint64_t>(left, kSmallRead));
    if (!got.ok() || *got == 0) {
      std::string cause = got.ok() ? "the data ends before the place that was reached earlier"
                                   : std::string(std_sv(got.status().message()));
      batch.problems.push_back(make_problem(file_.path, 0, mark_.offset - left, cause));
      damaged_ = ended_ = true;
      return;
    }
    left -= *got;
  }
}

LineReader::State LineReader::take(Batch& batch) {
  if (!started_) skip_to_start(batch);
  patient_ = false;
  while (batch.records.size() < options_.batch_records && batch.problems.size() < options_.batch_records) {
    const char* base = filling_.data();
    const void* found = std::memchr(base + scanned_, '\n', filling_.end() - scanned_);
    if (found != nullptr) {
      size_t at = static_cast<size_t>(static_cast<const char*>(found) - base);
      if (!line(batch, at - begin_, true)) return State::full;
      begin_ = scanned_ = at + 1;
      continue;
    }
    scanned_ = filling_.end();
    size_t open = filling_.end() - begin_;
    if (ended_) {
      if ((open > 0 || skipped_ > 0) && !damaged_) {
        if (!line(batch, open, false)) return State::full;
        begin_ = scanned_;
      }
      // Damaged packed data is not tried again either, unless the file grows.
      mark_.disk_length = file_.packing == Packing::none ? mark_.offset
                          : damaged_                     ? std::max(file_.size, stream_->disk_bytes())
                                                         : stream_->disk_bytes();
      return State::ended;
    }
    if (open > options_.max_line_bytes) {
      skipped_ += open;
      begin_ = scanned_;
    }
    if (file_.pipe && !worth_waiting(batch)) return State::waiting;
    if (ended_) continue;
    refill(batch);
    if (at_end_ && live_) return State::waiting;
  }
  return State::full;
}

// False: the line would make the batch too large; nothing was taken.
bool LineReader::line(Batch& batch, size_t length, bool terminated) {
  uint64_t whole = skipped_ + length;
  std::string_view value(filling_.data() + begin_, length);
  bool empty = whole == 0 || (whole == 1 && value == "\r");
  bool seen = delivered_tail_ > 0 && (whole == delivered_tail_ ||
                                      (terminated && whole == delivered_tail_ + 1 && value.ends_with('\r')));
  if (empty || seen) {
  } else if (whole > options_.max_line_bytes) {
    batch.problems.push_back(
        make_problem(file_.path, mark_.lines + 1, mark_.offset,
                     fmt::format("a line of {} bytes, more than the {} that are allowed; skipped", whole,
                                 options_.max_line_bytes)));
  } else {
    if (!batch.records.empty() && batch.bytes + length > options_.batch_bytes) return false;
    Record& record = batch.records.emplace_back();
    record.value = value;
    record.source = file_.source();
    record.offset = mark_.offset;
    record.line = mark_.lines + 1;
    batch.bytes += length;
    filling_.used_by(batch);
  }
  mark_.lines += 1;
  mark_.offset += whole + (terminated ? 1 : 0);
  mark_.tail = terminated ? 0 : whole;
  delivered_tail_ = 0;
  skipped_ = 0;
  return true;
}

void LineReader::refill(Batch& batch) {
  size_t open = filling_.end() - begin_;
  size_t wanted = std::max({open, std::min(kSmallRead, filling_.usual() / 4), size_t{1}});
  begin_ = filling_.make_room(begin_, wanted);
  scanned_ = begin_ + open;
  absl::StatusOr<size_t> got = stream_->read(filling_.data() + filling_.end(), filling_.room());
  at_end_ = got.ok() && *got == 0 && !file_.pipe && file_.packing == Packing::none;
  if (got.ok() && *got > 0) {
    filling_.appended(*got);
    return;
  }
  if (at_end_ && live_) return;
  ended_ = true;
  if (!got.ok()) {
    damaged_ = true;
    std::string cause(std_sv(got.status().message()));
    batch.problems.push_back(
        make_problem(file_.path, mark_.lines + 1, mark_.offset + skipped_ + open, cause));
  }
}

// A batch with something in it does not wait long for a pipe to fill it. An empty one waits until the run is
// stopped.
bool LineReader::worth_waiting(const Batch& batch) {
  pollfd waiting{fd_, POLLIN, 0};
  if (live_) return ::poll(&waiting, 1, 0) != 0;
  if (batch.records.empty()) {
    constexpr int kAskAgainMs = 100;
    while (::poll(&waiting, 1, kAskAgainMs) <= 0) {
      if (!options_.stop()) continue;
      ended_ = true;
      begin_ = scanned_;  // half a line is not a record
      break;
    }
    return true;
  }
  auto now = std::chrono::steady_clock::now();
  if (!patient_) {
    patient_ = true;
    patience_ = now + kPatience;
  }
  auto left = std::chrono::duration_cast<std::chrono::milliseconds>(patience_ - now).count();
  return ::poll(&waiting, 1, static_cast<int>(std::max<int64_t>(left, 0))) != 0;
}

}  // namespace doppel

#include "files/read/line_reader.h"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <cstring>

#include "base/status.h"

namespace doppel {
LineReader::LineReader(const FilesSourceOptions& options, Filling& filling, const InputFile& file, Fd fd,
                       ByteCounter counter, LineMark mark, bool live)
    : BufferedReader(options, filling, file, std::move(fd), std::move(counter), std::move(mark)),
      delivered_tail_(mark_.tail),
      live_(live) {
  mark_.tail = 0;
  // The unfinished last line is read again, because it may have become longer.
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

LineReader::State LineReader::take(Batch& batch) {
  if (!started_) {
    start(batch);
    scanned_ = begin_;
  }
  pipe_.begin();
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
      // Damaged compressed data is not read again unless the file grows.
      mark_.disk_length = file_.packing == Packing::none ? mark_.offset
                          : damaged_                     ? std::max(file_.size, stream_->disk_bytes())
                                                         : stream_->disk_bytes();
      return State::ended;
    }
    if (open > options_.max_line_bytes) {
      skipped_ += open;
      begin_ = scanned_;
    }
    if (file_.pipe && !waits(batch)) return State::waiting;
    if (ended_) continue;
    refill(batch);
    if (at_end_ && live_) return State::waiting;
  }
  return State::full;
}

// Returns false, and takes nothing, if the line would make the batch too large.
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
  const size_t open = filling_.end() - begin_;
  const absl::StatusOr<size_t> got = read_more();
  scanned_ = begin_ + open;
  at_end_ = got.ok() && *got == 0 && !file_.pipe && file_.packing == Packing::none;
  if ((got.ok() && *got > 0) || (at_end_ && live_)) return;
  ended_ = true;
  if (!got.ok()) {
    damaged_ = true;
    std::string cause(std_sv(got.status().message()));
    batch.problems.push_back(
        make_problem(file_.path, mark_.lines + 1, mark_.offset + skipped_ + open, cause));
  }
}

bool LineReader::waits(const Batch& batch) {
  // poll() does not see bytes that were already read.
  if (head_left_ || (file_.packing != Packing::none && !live_)) return true;
  if (live_) {
    pollfd waiting{fd_, POLLIN, 0};
    return ::poll(&waiting, 1, 0) != 0;
  }
  const PipeWait::Answer answer = pipe_.ask(batch.records.empty());
  if (answer == PipeWait::Answer::stopped) {
    ended_ = true;
    begin_ = scanned_;  // half a line is not a record
  }
  return answer != PipeWait::Answer::deliver;
}

}  // namespace doppel

#include "files/read/line_reader.h"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <utility>

#include "base/status.h"
#include "files/byte_stream.h"
#include "files/input_file.h"
#include "formats/mail/mail.h"
#include "pipeline/buffers.h"
#include "pipeline/stream.h"

namespace doppel {
namespace {

constexpr auto kPatience = std::chrono::milliseconds(20);
constexpr int kAskAgainMs = 100;

}  // namespace

PipeWait::Answer PipeWait::ask(bool batch_empty) {
  pollfd waiting{fd_, POLLIN, 0};
  if (batch_empty) {
    while (::poll(&waiting, 1, kAskAgainMs) <= 0) {
      if (options_.stop()) return Answer::stopped;
    }
    return Answer::read;
  }
  const auto now = std::chrono::steady_clock::now();
  if (!patient_) {
    patient_ = true;
    patience_ = now + kPatience;
  }
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(patience_ - now).count();
  return ::poll(&waiting, 1, static_cast<int>(std::max<int64_t>(left, 0))) != 0 ? Answer::read
                                                                                : Answer::deliver;
}

constexpr size_t kSmallRead = 64 << 10;  // less room is not worth a system call

// Puts one byte of our own between the bytes of other files in the buffer and this file's first record. So
// records of different files never touch, and the bytes behind a record are never taken for its end.
// Returns where the first record begins.
size_t begin_file(Filling& filling);

// Moves `stream`, which reads `fd`, so that its next read() returns the byte at `offset` (in uncompressed
// bytes). Returns false, and adds a Problem, if that place does not exist any more.
bool skip_to(uint64_t offset, int fd, const InputFile& file, ByteStream& stream, Batch& batch);

size_t begin_file(Filling& filling) {
  const size_t at = filling.make_room(filling.end(), 1);
  filling.data()[at] = '\n';
  filling.appended(1);
  return at + 1;
}

bool skip_to(uint64_t offset, int fd, const InputFile& file, ByteStream& stream, Batch& batch) {
  const auto lost = [&](uint64_t at, const std::string& cause) {
    batch.problems.push_back(make_problem(file.path, 0, at, cause));
    return false;
  };
  if (offset == 0) return true;
  if (file.packing == Packing::none)
    return ::lseek(fd, static_cast<off_t>(offset), SEEK_SET) >= 0 || lost(offset, system_cause());
  const std::unique_ptr<char[]> scratch(new char[kSmallRead]);
  for (uint64_t left = offset; left > 0;) {
    const absl::StatusOr<size_t> got = stream.read(scratch.get(), std::min<uint64_t>(left, kSmallRead));
    if (!got.ok()) return lost(offset - left, std::string(std_sv(got.status().message())));
    if (*got == 0) return lost(offset - left, "the data ends before the place that was reached earlier");
    left -= *got;
  }
  return true;
}

BufferedReader::BufferedReader(const FilesSourceOptions& options, Filling& filling, const InputFile& file,
                               Fd fd, ByteCounter counter, LineMark mark)
    : options_(options),
      filling_(filling),
      file_(file),
      fd_(fd.get()),
      stream_(make_byte_stream(std::move(fd), file.packing, std::move(counter), file.head)),
      pipe_(options, fd_),
      mark_(std::move(mark)),
      head_left_(!file.head.empty()) {
  mark_.path = file.path;
  mark_.disk_length = 0;
}

void BufferedReader::start(Batch& batch) {
  started_ = true;
  begin_ = begin_file(filling_);
  if (!skip_to(mark_.offset, fd_, file_, *stream_, batch)) damaged_ = ended_ = true;
}

absl::StatusOr<size_t> BufferedReader::read_more(size_t wanted) {
  begin_ =
      filling_.make_room(begin_, std::max({wanted, std::min(kSmallRead, filling_.usual() / 4), size_t{1}}));
  absl::StatusOr<size_t> got = stream_->read(filling_.data() + filling_.end(), filling_.room());
  head_left_ = false;
  if (got.ok()) filling_.appended(*got);
  return got;
}

bool BufferedReader::worth_waiting(const Batch& batch) {
  // poll() does not see bytes that were already read.
  if (head_left_ || file_.packing != Packing::none) return true;
  const PipeWait::Answer answer = pipe_.ask(batch.records.empty());
  if (answer == PipeWait::Answer::stopped) damaged_ = ended_ = true;
  return answer != PipeWait::Answer::deliver;
}

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

MboxReader::MboxReader(const FilesSourceOptions& options, Filling& filling, const InputFile& file, Fd fd,
                       ByteCounter counter, LineMark mark)
    : BufferedReader(options, filling, file, std::move(fd), std::move(counter), std::move(mark)),
      delivered_tail_(mark_.tail) {
  mark_.tail = 0;
  mark_.offset -= delivered_tail_;
}

// While it is the last one, the mark lies within the message: behind its `tail`, and its lines do not count.
LineMark MboxReader::mark() const {
  const uint64_t tail = delivered_tail_ > 0 ? delivered_tail_ : tail_;
  LineMark mark = mark_;
  if (tail == 0) return mark;
  if (tail_ > 0) {
    mark.offset -= tail_whole_;
    mark.lines -= tail_lines_;
  }
  mark.offset += tail;
  mark.tail = tail;
  return mark;
}

MboxReader::State MboxReader::take(Batch& batch) {
  if (!started_) start(batch);
  pipe_.begin();
  while (batch.records.size() < options_.batch_records && batch.problems.size() < options_.batch_records) {
    if (complete_ && !message(batch)) return State::full;
    const std::string_view bytes = open();
    const size_t end = bytes.find('\n', std::max(scanned_, no_line_end_));
    if (end == std::string_view::npos) {
      no_line_end_ = bytes.size();
      if (ended_) return this->end(batch);
      if (bytes.size() > options_.max_line_bytes) {
        skipped_ += bytes.size();
        begin_ += bytes.size();
        scanned_ = no_line_end_ = 0;
      }
      if (file_.pipe && !worth_waiting(batch)) return State::waiting;
      if (!ended_) refill(batch);
      continue;
    }
    if (begins_message(bytes.substr(scanned_, end - scanned_))) {
      // The line begins the open message itself, or ends it.
      if (scanned_ + skipped_ != 0) {
        complete_ = true;
        continue;
      }
      in_message_ = true;
    }
    scanned_ = end + 1;
    ++lines_;
  }
  return State::full;
}

// Hands out the open message. Returns false, and takes nothing, if it would make the batch too large.
bool MboxReader::message(Batch& batch) {
  const uint64_t whole = skipped_ + scanned_;
  std::string_view value = open().substr(0, scanned_);
  if (value.ends_with('\n')) value.remove_suffix(1);
  const size_t words = value.find_last_not_of("\r\n") + 1;
  const bool blank = words == 0, seen = delivered_tail_ > 0 && skipped_ + words == delivered_tail_;
  if (seen) {
  } else if (!in_message_) {
    if (!blank || skipped_ != 0) {
      batch.problems.push_back(
          make_problem(file_.path, mark_.lines + 1, mark_.offset,
                       fmt::format("{} bytes are in front of a message; skipped", whole)));
    }
  } else if (whole > options_.max_line_bytes) {
    batch.problems.push_back(
        make_problem(file_.path, mark_.lines + 1, mark_.offset,
                     fmt::format("a message of {} bytes, more than the {} that are allowed; skipped", whole,
                                 options_.max_line_bytes)));
  } else {
    if (!batch.records.empty() && batch.bytes + value.size() > options_.batch_bytes) return false;
    Record& record = batch.records.emplace_back();
    record.value = value;
    record.source = file_.source();
    record.offset = mark_.offset;
    record.line = mark_.lines + 1;
    record.mail = true;
    batch.bytes += value.size();
    filling_.used_by(batch);
  }
  // A message that ends with the file may be longer in the next run.
  tail_ = ended_ && !damaged_ && in_message_ ? skipped_ + words : 0;
  delivered_tail_ = 0;
  tail_whole_ = whole;
  tail_lines_ = lines_;
  mark_.offset += whole;
  mark_.lines += lines_;
  begin_ += scanned_;
  no_line_end_ -= std::min(no_line_end_, scanned_);
  scanned_ = 0;
  skipped_ = lines_ = 0;
  complete_ = in_message_ = false;
  return true;
}

RecordReader::State MboxReader::end(Batch& batch) {
  if (!damaged_) {
    const std::string_view rest = open().substr(scanned_);
    // The last line has no end; it may be all that there is.
    if (!rest.empty()) {
      if (scanned_ + skipped_ == 0) in_message_ = begins_message(rest);
      scanned_ += rest.size();
      ++lines_;
    }
    if (scanned_ + skipped_ != 0 && !message(batch)) {
      complete_ = true;
      return State::full;
    }
  }
  // Damaged data is not read again unless the file grows.
  mark_.disk_length = file_.packing == Packing::none ? std::max<uint64_t>(mark_.offset, 1)
                      : damaged_                     ? std::max(file_.size, stream_->disk_bytes())
                                                     : stream_->disk_bytes();
  return State::ended;
}

void MboxReader::refill(Batch& batch) {
  const absl::StatusOr<size_t> got = read_more();
  if (got.ok() && *got != 0) return;
  ended_ = true;
  if (got.ok()) return;
  damaged_ = true;
  batch.problems.push_back(make_problem(file_.path, mark_.lines + lines_ + 1,
                                        mark_.offset + skipped_ + scanned_,
                                        std::string(std_sv(got.status().message()))));
}

}  // namespace doppel

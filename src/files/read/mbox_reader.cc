#include "files/read/mbox_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "base/status.h"
#include "formats/mail/mail.h"

namespace doppel {

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
  const bool blank = value.find_first_not_of("\r\n") == std::string_view::npos;
  if (!in_message_) {
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

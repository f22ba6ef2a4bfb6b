#include "files/read/value_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/status.h"

namespace doppel {
namespace {

bool is_space(char c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r'; }
// A byte of the UTF-8 byte order mark, which some programs write.
bool is_mark(char c) { return c == '\xef' || c == '\xbb' || c == '\xbf'; }

// Advances to the end of an open string, or of the text. Returns whether the string ended.
bool skip_string(std::string_view text, size_t& at, bool& escaped) {
  if (escaped && at < text.size()) {
    escaped = false;
    ++at;
  }
  while (at < text.size()) {
    const char c = text[at++];
    if (c == '"') return true;
    if (c != '\\') continue;
    if (at == text.size()) {
      escaped = true;
    } else {
      ++at;
    }
  }
  return false;
}

}  // namespace

JsonSplitter::Found JsonSplitter::next(std::string_view text, size_t& at) {
  if (value_ != Value::none) {
    if (!ends(text, at)) return Found::nothing;
    value_ = Value::none;
    return Found::end;
  }
  for (; at < text.size(); ++at) {
    const char c = text[at];
    if (is_space(c) || is_mark(c)) continue;
    if (!in_array_ && c == '[') {
      in_array_ = true;
    } else if (in_array_ && c == ']') {
      in_array_ = false;
    } else if (!in_array_ || c != ',') {
      value_ = c == '{' || c == '[' ? Value::nested : c == '"' ? Value::text : Value::scalar;
      depth_ = 0;
      in_string_ = escaped_ = false;
      first_ = true;
      return Found::begin;
    }
  }
  return Found::nothing;
}

bool JsonSplitter::ends(std::string_view text, size_t& at) {
  if (first_ && at < text.size()) {
    first_ = false;
    depth_ = 1;
    ++at;
  }
  if (value_ == Value::text) return skip_string(text, at, escaped_);
  if (value_ == Value::scalar) {
    for (; at < text.size(); ++at) {
      const char c = text[at];
      if (is_space(c) || c == '{' || c == '[' || c == '"' || (in_array_ && (c == ',' || c == ']')))
        return true;
    }
    return false;
  }
  while (at < text.size()) {
    if (in_string_) {
      in_string_ = !skip_string(text, at, escaped_);
      continue;
    }
    const char c = text[at++];
    if (c == '"') {
      in_string_ = true;
    } else if (c == '{' || c == '[') {
      ++depth_;
    } else if ((c == '}' || c == ']') && --depth_ == 0) {
      return true;
    }
  }
  return false;
}

ValueReader::ValueReader(const FilesSourceOptions& options, Filling& filling, const InputFile& file, Fd fd,
                         ByteCounter counter, LineMark mark)
    : BufferedReader(options, filling, file, std::move(fd), std::move(counter), std::move(mark)),
      splitter_(mark_.tail != 0),
      offset_(mark_.offset),
      lines_(mark_.lines) {}

ValueReader::State ValueReader::take(Batch& batch) {
  if (!started_) {
    start(batch);
    scanned_ = begin_;
  }
  pipe_.begin();
  while (batch.records.size() < options_.batch_records && batch.problems.size() < options_.batch_records) {
    if (complete_ && !value(batch)) return State::full;
    const size_t before = scanned_;
    const auto found = splitter_.next({filling_.data(), filling_.end()}, scanned_);
    offset_ += scanned_ - before;
    if (found == JsonSplitter::Found::begin) {
      begin_ = scanned_;
      value_at_ = offset_;
      value_line_ = lines_before(offset_) + 1;
    } else if (found == JsonSplitter::Found::end) {
      complete_ = true;
    } else if (ended_) {
      return end(batch);
    } else {
      if (!splitter_.in_value()) begin_ = scanned_;
      if (scanned_ - begin_ > options_.max_line_bytes) {
        skipped_ += scanned_ - begin_;
        begin_ = scanned_;
      }
      if (file_.pipe && !worth_waiting(batch)) return State::waiting;
      if (!ended_) refill(batch);
    }
  }
  return State::full;
}

// Returns false, and takes nothing, if the value would make the batch too large.
bool ValueReader::value(Batch& batch) {
  const size_t length = scanned_ - begin_;
  const uint64_t whole = skipped_ + length;
  if (whole > options_.max_line_bytes) {
    batch.problems.push_back(
        make_problem(file_.path, value_line_, value_at_,
                     fmt::format("a value of {} bytes, more than the {} that are allowed; skipped", whole,
                                 options_.max_line_bytes)));
  } else {
    if (!batch.records.empty() && batch.bytes + length > options_.batch_bytes) return false;
    Record& record = batch.records.emplace_back();
    record.value = {filling_.data() + begin_, length};
    record.source = file_.source();
    record.offset = value_at_;
    record.line = value_line_;
    batch.bytes += length;
    filling_.used_by(batch);
  }
  mark_.offset = offset_;
  mark_.lines = lines_before(offset_);
  mark_.tail = splitter_.in_array() ? 1 : 0;
  begin_ = scanned_;
  skipped_ = 0;
  complete_ = false;
  return true;
}

RecordReader::State ValueReader::end(Batch& batch) {
  if (!damaged_ && splitter_.may_end()) {
    if (!value(batch)) return State::full;
    splitter_ = JsonSplitter(splitter_.in_array());
  }
  if (!splitter_.in_value()) {
    mark_.offset = offset_;
    mark_.lines = lines_before(offset_);
    mark_.tail = splitter_.in_array() ? 1 : 0;
  }
  if (!damaged_ && splitter_.in_value()) {
    batch.problems.push_back(
        make_problem(file_.path, value_line_, value_at_, "the file ends within the value that begins here"));
  } else if (!damaged_ && splitter_.in_array()) {
    batch.problems.push_back(
        make_problem(file_.path, lines_ + 1, offset_, "the file ends within an array: \"]\" is missing"));
  }
  // Damaged data is not read again unless the file grows.
  mark_.disk_length = file_.packing == Packing::none ? std::max<uint64_t>(offset_, 1)
                      : damaged_                     ? std::max(file_.size, stream_->disk_bytes())
                                                     : stream_->disk_bytes();
  return State::ended;
}

// Called when all bytes in the buffer have been examined.
void ValueReader::refill(Batch& batch) {
  lines_ = lines_before(offset_);
  line_ends_.clear();
  next_line_ = 0;
  const size_t open = filling_.end() - begin_;
  const absl::StatusOr<size_t> got = read_more();
  scanned_ = begin_ + open;
  if (!got.ok()) {
    damaged_ = ended_ = true;
    batch.problems.push_back(
        make_problem(file_.path, lines_ + 1, offset_, std::string(std_sv(got.status().message()))));
  } else if (*got == 0) {
    ended_ = true;
  } else {
    // Replaces the line feeds while no record refers to these bytes.
    char* const end = filling_.data() + filling_.end();
    char* const begin = end - *got;
    for (char* at = begin;
         (at = static_cast<char*>(std::memchr(at, '\n', static_cast<size_t>(end - at)))) != nullptr;) {
      line_ends_.push_back(offset_ + static_cast<uint64_t>(at - begin));
      *at = ' ';
      if (++at == end) break;
    }
  }
}

// `offset` never decreases between calls.
uint64_t ValueReader::lines_before(uint64_t offset) {
  for (; next_line_ < line_ends_.size() && line_ends_[next_line_] < offset; ++next_line_) ++lines_;
  return lines_;
}

}  // namespace doppel

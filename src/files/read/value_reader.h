#pragma once
// Reads a file of JSON values that span lines or are in an array. Each value is one record. Its line feeds
// become spaces, so that it can be written as one line.

#include <cstddef>
#include <string_view>
#include <vector>

#include "files/read/line_reader.h"

namespace doppel {

// Finds where JSON values begin and end, one after the other or in an array, in bytes that come in pieces.
// It follows only brackets and strings; the decoder checks the rest. Invalid bytes ("}", "tru") count as a
// value, which the decoder rejects by itself. So each byte belongs to a value or is between two.
class JsonSplitter {
 public:
  // in_array: the first byte is inside an array that began earlier.
  explicit JsonSplitter(bool in_array = false) : in_array_(in_array) {}

  enum class Found { nothing, begin, end };
  // Continues from `at`. Afterwards `at` is the first byte of a value (begin), the byte behind its last one
  // (end), or the size of `text`, all of which was examined (nothing).
  Found next(std::string_view text, size_t& at);

  bool in_array() const { return in_array_; }
  bool in_value() const { return value_ != Value::none; }
  // Whether the open value may be complete if no more bytes come, as far as that can be seen: only a scalar
  // such as a number has no closing character.
  bool may_end() const { return value_ == Value::scalar; }

 private:
  enum class Value { none, nested, text, scalar };

  bool ends(std::string_view text, size_t& at);

  Value value_ = Value::none;
  bool in_array_;
  size_t depth_ = 0;
  bool in_string_ = false, escaped_ = false, first_ = false;
};

class ValueReader final : public BufferedReader {
 public:
  // Reads `file` from `mark` on (its `tail` is 1 inside an array); the file descriptor is at the start of
  // the file. All references must outlive the reader. A file that ends inside a value or an array is a
  // Problem that says where; the values before it have been handed out.
  ValueReader(const FilesSourceOptions& options, Filling& filling, const InputFile& file, Fd fd,
              ByteCounter counter, LineMark mark);

  State take(Batch& batch) override;

 private:
  bool value(Batch& batch);
  State end(Batch& batch);
  void refill(Batch& batch);
  uint64_t lines_before(uint64_t offset);

  JsonSplitter splitter_;
  size_t scanned_ = 0;     // end of the examined bytes in the buffer
  uint64_t offset_ = 0;    // offset of scanned_ in the file
  uint64_t value_at_ = 0;  // offset of the open value in the file
  uint64_t value_line_ = 0;
  uint64_t skipped_ = 0;             // bytes of an overlong value that were already discarded
  std::vector<uint64_t> line_ends_;  // offsets in the file, of the last read
  size_t next_line_ = 0;             // first entry of line_ends_ that is not counted in lines_
  uint64_t lines_ = 0;               // lines counted so far
  bool complete_ = false;            // the open value has ended but was not handed out
};

}  // namespace doppel

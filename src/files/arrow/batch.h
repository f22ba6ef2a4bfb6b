#pragma once
// A batch of rows in an Arrow file, and the values of one of its columns.

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "files/arrow/flat_buffer.h"
#include "files/arrow/schema.h"
#include "files/byte_stream.h"
#include "files/tables/codec.h"

namespace doppel::arrow {

// What the head of a batch says.
struct BatchHead {
  struct Buffer {
    uint64_t at = 0, size = 0;  // in the body
  };
  uint64_t rows = 0;
  std::vector<uint64_t> nodes;  // values of each node
  std::vector<Buffer> buffers;
  std::vector<uint64_t> views;  // how many buffers each column with views has besides
  tables::Codec packing = tables::Codec::none;
  bool union_bits = false;  // unions have a buffer more, which says which values are there: up to V4
};

// `version`: of the message, whatever the footer says. The error: what it says cannot be, for a body of so
// many bytes.
absl::StatusOr<BatchHead> read_batch_head(const FlatTable& batch, int16_t version, uint64_t body_bytes);

// What was unpacked, of several buffers together.
struct Unpacked {
  uint64_t packed = 0, size = 0;
};

// The body of a batch, of which only the buffers that are asked for are read.
class Body {
 public:
  // Adds the sizes that it unpacks to `unpacked`, which outlives the body, and refuses a bomb.
  Body(int fd, uint64_t begin, tables::Codec packing, ByteCounter counter, Unpacked& unpacked)
      : fd_(fd), begin_(begin), packing_(packing), counter_(std::move(counter)), unpacked_(unpacked) {}
  // Its bytes, unpacked.
  absl::StatusOr<std::string> read(const BatchHead::Buffer& buffer) const;

 private:
  int fd_;
  uint64_t begin_;
  tables::Codec packing_;
  ByteCounter counter_;
  Unpacked& unpacked_;
};

// The values of a column in a batch, or of a dictionary.
class Values {
 public:
  // index: the places of the values in a dictionary, in place of the values.
  static absl::StatusOr<Values> read(const Field& field, bool index, const BatchHead& head, const Body& body);

  uint64_t size() const { return size_; }
  // i < size(). The error: the value lies outside of its buffers.
  absl::Status get(uint64_t i, tables::Cell& out) const;
  bool there(uint64_t i) const { return layout_ != Layout::nulls && is_there(i); }
  // Of a list: which values of its child it holds. The error: more than these `values`.
  absl::Status entries(uint64_t i, uint64_t values, uint64_t& begin, uint64_t& end) const;

 private:
  Values(const Field& field, bool index);
  absl::Status check_sizes() const;
  bool is_there(uint64_t i) const {
    return there_.empty() || (static_cast<uint8_t>(there_[i / 8]) >> (i % 8) & 1) != 0;
  }
  int64_t number(uint64_t i) const;
  template <typename Offset>
  absl::Status between(uint64_t i, tables::Cell& out) const;
  absl::Status view(uint64_t i, tables::Cell& out) const;

  Layout layout_;
  uint32_t width_;
  bool has_sign_;
  int64_t scale_, divisor_;
  uint64_t size_ = 0;
  std::string there_;  // a bit for each value; empty: all are there
  std::string main_;   // bits, numbers, fixed values, offsets or views
  std::vector<std::string> bytes_;
};

}  // namespace doppel::arrow

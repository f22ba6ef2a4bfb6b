#pragma once
// A batch of rows in an Arrow file, and the values of one of its columns.

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "files/arrow/flat_buffer.h"
#include "files/arrow/schema.h"
#include "files/byte_stream.h"
#include "files/tables/codec.h"

namespace doppel::arrow {

// The metadata of a batch.
struct BatchHead {
  struct Buffer {
    uint64_t at = 0, size = 0;  // in the body
  };
  uint64_t rows = 0;
  std::vector<uint64_t> nodes;  // number of values of each node
  std::vector<uint64_t> nulls;  // how many of these are missing
  std::vector<Buffer> buffers;
  std::vector<uint64_t> views;  // number of additional buffers of each column with views
  tables::Codec packing = tables::Codec::none;
  bool union_bits = false;  // up to V4 a union has one more buffer, the validity bits
};

// `version` is the message's, which may differ from the footer's. It is an error if the metadata is
// impossible for a body of `body_bytes` bytes.
absl::StatusOr<BatchHead> read_batch_head(const FlatTable& batch, int16_t version, uint64_t body_bytes);
// It is an error if a batch of rows contradicts the schema or itself: each column has a value for each row.
absl::Status check_batch(const BatchHead& batch, const Schema& schema);

// Total sizes of several buffers before and after unpacking.
struct Unpacked {
  uint64_t packed = 0, size = 0;
};

// The body of a batch. Reads only the requested buffers.
class Body {
 public:
  // Adds the sizes of unpacked buffers to `unpacked`, which must outlive the body, and refuses
  // decompression bombs.
  Body(int fd, uint64_t begin, tables::Codec packing, ByteCounter counter, Unpacked& unpacked)
      : fd_(fd), begin_(begin), packing_(packing), counter_(std::move(counter)), unpacked_(unpacked) {}
  // The unpacked bytes of a buffer.
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
  // index: reads indexes into a dictionary instead of values.
  static absl::StatusOr<Values> read(const Field& field, bool index, const BatchHead& head, const Body& body);

  uint64_t size() const { return size_; }
  // i < size(). It is an error if the value is outside of its buffers.
  absl::Status get(uint64_t i, tables::Cell& out) const;
  bool there(uint64_t i) const { return layout_ != Layout::nulls && is_there(i); }
  // Sets the range of child values that list i holds. It is an error if it exceeds `values`, the number of
  // child values.
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
  std::string there_;  // validity bits; empty: all values are there
  std::string main_;   // bits, numbers, fixed values, offsets or views
  std::vector<std::string> bytes_;
};

// The values of a column in a batch with all its children, and their JSON.
class NestedValues {
 public:
  // `field` must outlive the values. The error names the column.
  static absl::StatusOr<NestedValues> read(const Field& field, const BatchHead& head, const Body& body);

  const Values& values() const { return values_; }

  // Looks up `place` in the dictionary of a field.
  using Lookup = std::function<absl::Status(const Field&, const tables::Cell& place, tables::Cell& out)>;
  // i < values().size(). Stops once `out` is longer than `most`.
  absl::Status append(uint64_t i, const Lookup& lookup, uint64_t most, std::string& out) const;

 private:
  NestedValues(const Field& field, Values values) : field_(&field), values_(std::move(values)) {}
  absl::Status append_entries(uint64_t i, const Lookup& lookup, uint64_t most, std::string& out) const;

  const Field* field_;
  Values values_;
  std::vector<NestedValues> children_;
  std::vector<std::string> names_;  // of a structure: the JSON before the value of each child
};

}  // namespace doppel::arrow

#pragma once
// The values of a page, one after the other, in each of the encodings that are read.

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "files/parquet/page.h"
#include "files/parquet/schema.h"

namespace doppel::parquet {

using tables::Cell;

class PageValues {
 public:
  virtual ~PageValues() = default;
  // The next value, which the caller knows to be there: `there` is not set. Its bytes live until the next
  // call (or as long as the page). The error says what is wrong with the page.
  virtual absl::Status next(Cell& out) = 0;
};

// The values of a dictionary page, by their places.
class Dictionary {
 public:
  uint64_t size() const { return size_; }
  // place < size()
  void get(uint64_t place, Cell& out) const;
  void clear() { *this = {}; }

 private:
  friend absl::Status read_dictionary(const Column& column, std::string_view page, uint64_t values,
                                      Dictionary& out);
  std::string_view page_;
  Stored stored_ = Stored::bytes;
  uint32_t width_ = 0;            // of values of one length
  std::vector<uint32_t> begins_;  // of others, with their lengths before them
  uint64_t size_ = 0;
};

// Readers of the data of a page; an error: the encoding is not read, or not for this column, or the data
// begins wrong. `page` and `dictionary` outlive the reader.
absl::StatusOr<std::unique_ptr<PageValues>> make_page_values(Encoding encoding, const Column& column,
                                                             std::string_view page,
                                                             const Dictionary& dictionary);

// Values of a dictionary page, which `out` points into.
absl::Status read_dictionary(const Column& column, std::string_view page, uint64_t values, Dictionary& out);

}  // namespace doppel::parquet

#pragma once
// Decodes the values of a page one after the other, in all encodings that doppel reads.

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
  // Reads the next value. The caller knows that there is one, so `there` is not set. Its bytes are valid
  // until the next call. An error says what is wrong with the page.
  virtual absl::Status next(Cell& out) = 0;
};

// The values of a dictionary page, by index.
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
  uint32_t width_ = 0;            // if all values have the same size
  std::vector<uint32_t> begins_;  // otherwise: offsets of the values, each preceded by its length
  uint64_t size_ = 0;
};

// Makes a decoder for the data of a page. `page` and `dictionary` must outlive it. It is an error if doppel
// does not read this encoding, or not for this column, or the data begins wrong.
absl::StatusOr<std::unique_ptr<PageValues>> make_page_values(Encoding encoding, const Column& column,
                                                             std::string_view page,
                                                             const Dictionary& dictionary);

// Reads a dictionary page. `page` must outlive `out`, which points into it.
absl::Status read_dictionary(const Column& column, std::string_view page, uint64_t values, Dictionary& out);

}  // namespace doppel::parquet

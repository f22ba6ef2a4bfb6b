#pragma once
// The values of a page, one after the other, in each of the encodings that are read.

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "stream/files/parquet/page.h"
#include "stream/files/parquet/schema.h"

namespace doppel::parquet {

using tables::Cell;

class PageValues {
 public:
  virtual ~PageValues() = default;
  // The next value, which the caller knows to be there: `there` is not set. Its bytes live until the next
  // call (or as long as the page). The error says what is wrong with the page.
  virtual absl::Status next(Cell& out) = 0;
};

using Dictionary = std::vector<Cell>;

// Readers of the data of a page; an error: the encoding is not read, or not for this column, or the data
// begins wrong. `page` and `dictionary` outlive the reader.
absl::StatusOr<std::unique_ptr<PageValues>> make_page_values(Encoding encoding, const Column& column,
                                                             std::string_view page,
                                                             const Dictionary& dictionary);

// Values of a dictionary page, which `out` points into.
absl::Status read_dictionary(const Column& column, std::string_view page, uint64_t values, Dictionary& out);

}  // namespace doppel::parquet

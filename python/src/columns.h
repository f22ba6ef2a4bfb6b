#pragma once
// Columns as they come from Python: texts, ids and times, from lists of objects or from Arrow arrays, as
// views that are valid as long as the column. Needs the GIL to be made and to be destroyed, not to be read.

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "arrow_abi.h"
#include "nanobind/nanobind.h"

namespace doppel::python {

namespace nb = nanobind;

// Texts or ids. A value without data() is missing (None, null).
struct TextColumn {
  std::vector<std::string_view> values;

  // What the values point into.
  std::vector<nb::object> objects;
  std::vector<Owned<ArrowArray>> arrays;
  std::deque<std::string> made;
};

// Where the values of a column come from, for messages: "texts", "ids".
// TypeError or ValueError: names the row and what would be right.
TextColumn text_column(nb::handle from, const char* what);
// The same; whole numbers become their digits. None of them may be missing or empty.
TextColumn id_column(nb::handle from, const char* what);

// Milliseconds since 1970; kNoTime where there is none.
std::vector<int64_t> time_column(nb::handle from, const char* what);

// ValueError where ids or times (null: none are given) are not as many as there are texts.
void check_lengths(size_t texts, const TextColumn* ids, const std::vector<int64_t>* times);

// From objects with __arrow_c_stream__ or __arrow_c_array__; false if it is none. Then `column` is filled.
bool arrow_texts(nb::handle from, const char* what, bool numbers_too, TextColumn& column);
bool arrow_times(nb::handle from, const char* what, std::vector<int64_t>& times);

}  // namespace doppel::python

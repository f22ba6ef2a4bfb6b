#pragma once
// Columns from Python: texts, ids and times, from lists of objects or Arrow arrays. Their values are views
// that are valid as long as the column. Making and destroying a column needs the GIL, reading it does not.

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

  // Keep the memory of the values alive.
  std::vector<nb::object> objects;
  std::vector<Owned<ArrowArray>> arrays;
  std::deque<std::string> made;
};

// `what` names the column in messages, such as "texts". TypeError and ValueError name the row, and what
// would be right.
TextColumn text_column(nb::handle from, const char* what);
// The same for ids: integers become digits, and no id may be missing or empty.
TextColumn id_column(nb::handle from, const char* what);

// Times in milliseconds since 1970; kNoTime if missing.
std::vector<int64_t> time_column(nb::handle from, const char* what);

// ValueError if there are not as many ids or times as texts; nullptr: none are given.
void check_lengths(size_t texts, const TextColumn* ids, const std::vector<int64_t>* times);

// Read objects with __arrow_c_stream__ or __arrow_c_array__. Return false, and change nothing, for other
// objects.
bool arrow_texts(nb::handle from, const char* what, bool numbers_too, TextColumn& column);
bool arrow_times(nb::handle from, const char* what, std::vector<int64_t>& times);

}  // namespace doppel::python

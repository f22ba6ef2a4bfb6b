#pragma once
// Converts absl::Status to Python's exceptions.

#include <utility>

#include "absl/status/statusor.h"
#include "nanobind/nanobind.h"

namespace doppel::python {

// Throws nb::python_error unless the status is OK: ValueError, OSError or a class of doppel_dedup._errors.
// Needs the GIL.
void raise_if_error(const absl::Status& status);

template <typename T>
T value_or_raise(absl::StatusOr<T> value) {
  raise_if_error(value.status());
  return *std::move(value);
}

}  // namespace doppel::python

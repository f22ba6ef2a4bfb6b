#include "errors.h"

#include <string>

#include "absl/strings/str_replace.h"

namespace doppel::python {
namespace {

namespace nb = nanobind;

// The name of the exception class, in doppel_dedup._errors or built in.
const char* class_of(absl::StatusCode code) {
  switch (code) {
    case absl::StatusCode::kInvalidArgument:
      return "ValueError";
    case absl::StatusCode::kNotFound:
      return "FileNotFoundError";
    case absl::StatusCode::kPermissionDenied:
      return "PermissionError";
    case absl::StatusCode::kFailedPrecondition:
      return "WrongIndexError";
    case absl::StatusCode::kUnavailable:
      return "BusyError";
    case absl::StatusCode::kDataLoss:
      return "DamagedError";
    default:
      return "Error";
  }
}

}  // namespace

void raise_if_error(const absl::Status& status) {
  if (status.ok()) return;
  // In Python, settings are arguments.
  const std::string message = absl::StrReplaceAll(status.message(), {{"command line: ", ""}});
  const char* name = class_of(status.code());
  const nb::module_ errors = nb::module_::import_("doppel_dedup._errors");
  const nb::object type = nb::hasattr(errors, name) ? nb::object(errors.attr(name))
                                                    : nb::object(nb::module_::import_("builtins").attr(name));
  PyErr_SetObject(type.ptr(), nb::str(message.c_str(), message.size()).ptr());
  throw nb::python_error();
}

}  // namespace doppel::python

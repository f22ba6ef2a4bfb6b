#include "errors.h"

#include <cctype>
#include <string>

#include "absl/strings/str_replace.h"
#include "config/keys.h"

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

bool in_name(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.' || c == '/' || c == '-';
}

// The argument that is this setting: path for state.directory, input_format for input.format.
std::string argument_of(const std::string& key) {
  if (key == "state.directory") return "path";
  if (key == "input.text" || key == "input.id") return key.substr(key.find('.') + 1);
  return absl::StrReplaceAll(key, {{".", "_"}});
}

// In Python, settings are arguments.
std::string in_python(std::string message) {
  message = absl::StrReplaceAll(message, {{"command line: ", ""}});
  for (const std::string& key : key_names()) {
    if (key.find('.') == std::string::npos) continue;
    const std::string argument = argument_of(key);
    for (size_t at = message.find(key); at != std::string::npos; at = message.find(key, at + 1)) {
      const size_t end = at + key.size();
      if ((at > 0 && in_name(message[at - 1])) || (end < message.size() && in_name(message[end]))) continue;
      message.replace(at, key.size(), argument);
    }
  }
  return message;
}

}  // namespace

void raise_if_error(const absl::Status& status) {
  if (status.ok()) return;
  const std::string message = in_python(std::string(status.message()));
  const char* name = class_of(status.code());
  const nb::module_ errors = nb::module_::import_("doppel_dedup._errors");
  const nb::object type = nb::hasattr(errors, name) ? nb::object(errors.attr(name))
                                                    : nb::object(nb::module_::import_("builtins").attr(name));
  PyErr_SetObject(type.ptr(), nb::str(message.c_str(), message.size()).ptr());
  throw nb::python_error();
}

}  // namespace doppel::python

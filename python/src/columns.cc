#include "columns.h"

#include <cmath>
#include <limits>

#include "engine/rule.h"
#include "fmt/format.h"
#include "formats/decoder.h"

namespace doppel::python {
namespace {

[[noreturn]] void wrong_type(const char* what, size_t row, nb::handle value, const char* right) {
  throw nb::type_error(
      fmt::format("{}: row {} is of type {}; {}", what, row, nb::type_name(value.type()).c_str(), right)
          .c_str());
}

// The bytes of a str or bytes object; valid as long as the object. A str that UTF-8 cannot encode (unpaired
// surrogates) becomes invalid UTF-8, as it would be in a file.
std::string_view bytes_of(nb::handle value, TextColumn& column) {
  if (PyBytes_Check(value.ptr())) {
    char* data = nullptr;
    Py_ssize_t size = 0;
    if (PyBytes_AsStringAndSize(value.ptr(), &data, &size) != 0) throw nb::python_error();
    return {data, static_cast<size_t>(size)};
  }
  Py_ssize_t size = 0;
  const char* data = PyUnicode_AsUTF8AndSize(value.ptr(), &size);
  if (data != nullptr) return {data, static_cast<size_t>(size)};
  if (PyErr_ExceptionMatches(PyExc_UnicodeEncodeError) == 0) throw nb::python_error();
  PyErr_Clear();
  nb::object encoded = nb::steal(PyUnicode_AsEncodedString(value.ptr(), "utf-8", "surrogatepass"));
  if (!encoded.is_valid()) throw nb::python_error();
  column.objects.push_back(encoded);
  return bytes_of(encoded, column);
}

// None, NaN, or NA and NaT of pandas.
bool is_missing(nb::handle value) {
  if (value.is_none()) return true;
  if (PyFloat_Check(value.ptr())) return std::isnan(PyFloat_AsDouble(value.ptr()));
  if (PyUnicode_Check(value.ptr()) || PyLong_Check(value.ptr()) || PyBytes_Check(value.ptr())) return false;
  const std::string name = nb::type_name(value.type()).c_str();
  return name.ends_with(".NAType") || name.ends_with(".NaTType");
}

// A tuple of the values, so that nobody changes them while they are read without the GIL.
nb::object tuple_of(nb::handle from, const char* what) {
  if (PyUnicode_Check(from.ptr()) || PyBytes_Check(from.ptr())) {
    throw nb::type_error(
        fmt::format("{}: one {}; give a list of them: [{}]", what, nb::type_name(from.type()).c_str(), what)
            .c_str());
  }
  if (PyDict_Check(from.ptr())) {
    throw nb::type_error(
        fmt::format("{}: a dict; give a list of its values, or use deduplicate()", what).c_str());
  }
  PyObject* tuple = PySequence_Tuple(from.ptr());
  if (tuple == nullptr) {
    nb::python_error error;  // takes it
    if (nb::hasattr(from, "__iter__") || !error.matches(PyExc_TypeError)) throw error;
    throw nb::type_error(
        fmt::format("{}: {} is neither a list nor an Arrow array", what, nb::type_name(from.type()).c_str())
            .c_str());
  }
  return nb::steal(tuple);
}

template <typename Visit>
void each_of(nb::handle tuple, Visit visit) {
  const Py_ssize_t size = PyTuple_Size(tuple.ptr());
  for (Py_ssize_t i = 0; i < size; ++i)
    visit(static_cast<size_t>(i), nb::handle(PyTuple_GetItem(tuple.ptr(), i)));
}

}  // namespace

TextColumn text_column(nb::handle from, const char* what) {
  TextColumn out;
  if (arrow_texts(from, what, false, out)) return out;
  nb::object tuple = tuple_of(from, what);
  out.objects.push_back(tuple);
  out.values.reserve(nb::len(tuple));
  each_of(tuple, [&](size_t row, nb::handle value) {
    if (is_missing(value)) {
      out.values.emplace_back();
    } else if (PyUnicode_Check(value.ptr()) || PyBytes_Check(value.ptr())) {
      out.values.push_back(bytes_of(value, out));
    } else {
      wrong_type(what, row, value, "give str, bytes or None");
    }
  });
  return out;
}

TextColumn id_column(nb::handle from, const char* what) {
  TextColumn out;
  if (!arrow_texts(from, what, true, out)) {
    nb::object tuple = tuple_of(from, what);
    out.objects.push_back(tuple);
    out.values.reserve(nb::len(tuple));
    each_of(tuple, [&](size_t row, nb::handle value) {
      if (PyUnicode_Check(value.ptr()) || PyBytes_Check(value.ptr())) {
        out.values.push_back(bytes_of(value, out));
      } else if (is_missing(value)) {
        out.values.emplace_back();
      } else if (PyIndex_Check(value.ptr()) != 0 && !PyBool_Check(value.ptr())) {
        out.values.push_back(out.made.emplace_back(nb::str(nb::steal(PyNumber_Index(value.ptr()))).c_str()));
      } else {
        wrong_type(what, row, value, "give str, bytes or whole numbers");
      }
    });
  }
  for (size_t row = 0; row < out.values.size(); ++row) {
    if (out.values[row].empty()) {
      throw nb::value_error(
          fmt::format("{}: row {} has none; give each document one, or leave ids out", what, row).c_str());
    }
  }
  return out;
}

std::vector<int64_t> time_column(nb::handle from, const char* what) {
  std::vector<int64_t> out;
  if (arrow_times(from, what, out)) return out;
  nb::object tuple = tuple_of(from, what);
  TextColumn texts;
  nb::object to_text;
  each_of(tuple, [&](size_t row, nb::handle value) {
    if (is_missing(value)) return out.push_back(kNoTime);
    nb::object text = nb::borrow(value);
    if (nb::hasattr(value, "isoformat")) text = value.attr("isoformat")();
    if (!PyUnicode_Check(text.ptr())) text = nb::str(text);
    const std::string_view written = bytes_of(text, texts);
    if (written == "NaT") return out.push_back(kNoTime);  // of NumPy
    const std::optional<int64_t> time = parse_time(written);
    if (!time) {
      throw nb::value_error(
          fmt::format("{}: row {}: \"{}\" is not a time; give datetime objects, ISO 8601, or "
                      "seconds or milliseconds since 1970",
                      what, row, written)
              .c_str());
    }
    out.push_back(*time);
  });
  return out;
}

void check_lengths(size_t texts, const TextColumn* ids, const std::vector<int64_t>* times) {
  if (ids != nullptr && ids->values.size() != texts)
    throw nb::value_error(fmt::format("ids: {} for {} texts", ids->values.size(), texts).c_str());
  if (times != nullptr && times->size() != texts)
    throw nb::value_error(fmt::format("dates: {} for {} texts", times->size(), texts).c_str());
}

}  // namespace doppel::python

// Reads columns from the Arrow C data interface without a Python object per value.
#include <bit>
#include <cstring>
#include <functional>

#include "columns.h"
#include "engine/rule.h"
#include "fmt/format.h"
#include "formats/decoder.h"

namespace doppel::python {
namespace {

template <typename T>
Owned<T> take(nb::handle capsule, const char* name) {
  void* pointer = PyCapsule_GetPointer(capsule.ptr(), name);
  if (pointer == nullptr) throw nb::python_error();
  return Owned<T>(static_cast<T*>(pointer));
}

using Chunk = std::function<void(const ArrowSchema&, Owned<ArrowArray>)>;

void read_stream(nb::handle from, const char* what, const Chunk& chunk) {
  const nb::object capsule = from.attr("__arrow_c_stream__")();
  Owned<ArrowArrayStream> stream = take<ArrowArrayStream>(capsule, "arrow_array_stream");
  const auto fail = [&] {
    const char* error = stream->get_last_error(stream.get());
    throw nb::value_error(
        fmt::format("{}: the Arrow stream failed: {}", what, error == nullptr ? "no reason given" : error)
            .c_str());
  };
  Owned<ArrowSchema> schema;
  if (stream->get_schema(stream.get(), schema.get()) != 0) fail();
  while (true) {
    Owned<ArrowArray> array;
    if (stream->get_next(stream.get(), array.get()) != 0) fail();
    if (array->release == nullptr) return;
    chunk(*schema.get(), std::move(array));
  }
}

// Calls `chunk` with each array. Returns false if `from` is not an Arrow object.
bool read_chunks(nb::handle from, const char* what, const Chunk& chunk) {
  if (nb::hasattr(from, "__arrow_c_stream__")) {
    read_stream(from, what, chunk);
    return true;
  }
  if (!nb::hasattr(from, "__arrow_c_array__")) return false;
  const nb::object pair = from.attr("__arrow_c_array__")();
  Owned<ArrowSchema> schema = take<ArrowSchema>(pair[0], "arrow_schema");
  chunk(*schema.get(), take<ArrowArray>(pair[1], "arrow_array"));
  return true;
}

// What the values of a format are, for people.
std::string values_of(std::string_view format) {
  if (format == "b") return "true and false";
  if (format.size() == 1 && std::string_view("cCsSiIlL").find(format) != std::string_view::npos)
    return "whole numbers";
  if (format == "e" || format == "f" || format == "g" || format.starts_with("d:")) return "numbers";
  if (format.starts_with("+l") || format.starts_with("+L") || format.starts_with("+w") ||
      format.starts_with("+v"))
    return "lists";
  if (format.starts_with("t")) return "times";
  return fmt::format("Arrow's format \"{}\"", format);
}

[[noreturn]] void wrong_format(const ArrowSchema& schema, const char* what, const char* right) {
  const std::string_view format = schema.format;
  if (format == "+s") {
    std::string names;
    for (int64_t i = 0; i < schema.n_children; ++i)
      names.append(names.empty() ? "" : ", ").append(schema.children[i]->name);
    throw nb::type_error(
        fmt::format("{}: a table with the columns {}; give one column, or use deduplicate()", what, names)
            .c_str());
  }
  if (schema.dictionary != nullptr) {
    throw nb::type_error(
        fmt::format("{}: a dictionary-encoded (categorical) column; cast it to string first", what).c_str());
  }
  throw nb::type_error(fmt::format("{}: a column of {}; give {}", what, values_of(format), right).c_str());
}

bool is_null(const ArrowArray& array, int64_t i) {
  const auto* bits = static_cast<const uint8_t*>(array.n_buffers == 0 ? nullptr : array.buffers[0]);
  if (array.null_count == 0 || bits == nullptr) return false;
  const int64_t at = array.offset + i;
  return (bits[at / 8] >> (at % 8) & 1) == 0;
}

constexpr std::string_view kEmpty = "";  // not missing, because it has data()

template <typename Offset>
void add_strings(const ArrowArray& array, std::vector<std::string_view>& out) {
  const auto* offsets = static_cast<const Offset*>(array.buffers[1]) + array.offset;
  const auto* data = static_cast<const char*>(array.buffers[2]);
  for (int64_t i = 0; i < array.length; ++i) {
    if (is_null(array, i)) {
      out.emplace_back();
    } else if (offsets[i] == offsets[i + 1]) {
      out.push_back(kEmpty);
    } else {
      out.emplace_back(data + offsets[i], static_cast<size_t>(offsets[i + 1] - offsets[i]));
    }
  }
}

// A string view is a length, then 12 bytes of text, or the first 4 bytes, the number of a buffer and an
// offset.
struct StringView {
  int32_t size;
  char beginning[4];
  int32_t buffer;
  int32_t offset;
};

void add_string_views(const ArrowArray& array, std::vector<std::string_view>& out) {
  const auto* views = static_cast<const StringView*>(array.buffers[1]) + array.offset;
  for (int64_t i = 0; i < array.length; ++i) {
    const StringView& view = views[i];
    if (is_null(array, i)) {
      out.emplace_back();
    } else if (view.size <= 12) {
      out.emplace_back(view.beginning, static_cast<size_t>(view.size));
    } else {
      out.emplace_back(static_cast<const char*>(array.buffers[2 + view.buffer]) + view.offset,
                       static_cast<size_t>(view.size));
    }
  }
}

template <typename T>
void each_number(const ArrowArray& array, const std::function<void(bool, int64_t)>& visit) {
  const T* values = static_cast<const T*>(array.buffers[1]) + array.offset;
  for (int64_t i = 0; i < array.length; ++i) {
    const bool null = is_null(array, i);
    visit(null, null ? 0 : static_cast<int64_t>(values[i]));
  }
}

// Returns false if the format is not one of integers that fit into int64_t.
bool each_integer(char format, const ArrowArray& array, const std::function<void(bool, int64_t)>& visit) {
  switch (format) {
    case 'c':
      return each_number<int8_t>(array, visit), true;
    case 'C':
      return each_number<uint8_t>(array, visit), true;
    case 's':
      return each_number<int16_t>(array, visit), true;
    case 'S':
      return each_number<uint16_t>(array, visit), true;
    case 'i':
      return each_number<int32_t>(array, visit), true;
    case 'I':
      return each_number<uint32_t>(array, visit), true;
    case 'l':
      return each_number<int64_t>(array, visit), true;
    default:
      return false;
  }
}

bool add_texts(std::string_view format, const ArrowArray& array, std::vector<std::string_view>& out) {
  out.reserve(out.size() + static_cast<size_t>(array.length));
  if (format == "u" || format == "z") {
    add_strings<int32_t>(array, out);
  } else if (format == "U" || format == "Z") {
    add_strings<int64_t>(array, out);
  } else if (format == "vu" || format == "vz") {
    add_string_views(array, out);
  } else if (format == "n") {
    out.resize(out.size() + static_cast<size_t>(array.length));
  } else {
    return false;
  }
  return true;
}

// A unit of Arrow's times in milliseconds, as a fraction. times == 0: the format is not a time.
struct Unit {
  int64_t times = 0, over = 1;
};

Unit unit_of(std::string_view format) {
  if (format == "tdD") return {86'400'000, 1};
  if (format == "tdm" || format.starts_with("tsm:")) return {1, 1};
  if (format.starts_with("tss:")) return {1000, 1};
  if (format.starts_with("tsu:")) return {1, 1000};
  if (format.starts_with("tsn:")) return {1, 1'000'000};
  return {};
}

int64_t floor_over(int64_t value, int64_t over) { return value / over - (value % over < 0 ? 1 : 0); }

}  // namespace

bool arrow_texts(nb::handle from, const char* what, bool numbers_too, TextColumn& column) {
  return read_chunks(from, what, [&](const ArrowSchema& schema, Owned<ArrowArray> array) {
    const std::string_view format = schema.format;
    const char* right = numbers_too ? "strings or whole numbers" : "strings (or binary with UTF-8)";
    if (schema.dictionary != nullptr) wrong_format(schema, what, right);
    if (add_texts(format, *array.get(), column.values)) {
      column.arrays.push_back(std::move(array));
      return;
    }
    const auto add = [&](bool null, int64_t value) {
      if (null) {
        column.values.emplace_back();
      } else {
        column.values.push_back(column.made.emplace_back(std::to_string(value)));
      }
    };
    const bool number = numbers_too && format.size() == 1 && each_integer(format[0], *array.get(), add);
    if (number) return;
    if (numbers_too && format == "L") {
      const auto* values = static_cast<const uint64_t*>(array->buffers[1]) + array->offset;
      for (int64_t i = 0; i < array->length; ++i) {
        if (is_null(*array.get(), i)) {
          column.values.emplace_back();
        } else {
          column.values.push_back(column.made.emplace_back(std::to_string(values[i])));
        }
      }
      return;
    }
    wrong_format(schema, what, right);
  });
}

bool arrow_times(nb::handle from, const char* what, std::vector<int64_t>& times) {
  return read_chunks(from, what, [&](const ArrowSchema& schema, Owned<ArrowArray> array) {
    const std::string_view format = schema.format;
    constexpr const char* kRight = "timestamps, dates, ISO 8601, or seconds or milliseconds since 1970";
    if (schema.dictionary != nullptr) wrong_format(schema, what, kRight);
    const auto parsed = [&](std::string_view written) {
      const std::optional<int64_t> time = parse_time(written);
      if (!time) {
        throw nb::value_error(
            fmt::format("{}: row {}: \"{}\" is not a time; give {}", what, times.size(), written, kRight)
                .c_str());
      }
      times.push_back(*time);
    };
    if (const Unit unit = unit_of(format); unit.times != 0) {
      const auto add = [&](bool null, int64_t value) {
        times.push_back(null ? kNoTime : floor_over(value * unit.times, unit.over));
      };
      if (format == "tdD") return each_number<int32_t>(*array.get(), add);
      return each_number<int64_t>(*array.get(), add);
    }
    const auto number = [&](bool null, int64_t value) {
      if (null) return times.push_back(kNoTime);
      parsed(std::to_string(value));
    };
    if (format.size() == 1 && each_integer(format[0], *array.get(), number)) return;
    std::vector<std::string_view> texts;
    if (!add_texts(format, *array.get(), texts)) wrong_format(schema, what, kRight);
    for (std::string_view text : texts) {
      if (text.empty()) {
        times.push_back(kNoTime);
      } else {
        parsed(text);
      }
    }
  });
}

}  // namespace doppel::python

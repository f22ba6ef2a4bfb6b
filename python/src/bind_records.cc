// Binds signed records as doppel_dedup._core.Records.
#include <array>

#include "arrow_abi.h"
#include "bind.h"
#include "columns.h"
#include "errors.h"
#include "fmt/format.h"
#include "nanobind/stl/pair.h"
#include "nanobind/stl/string.h"
#include "nanobind/stl/vector.h"
#include "record_signing.h"
#include "watch.h"

namespace doppel::python {
namespace {

using Sets = std::vector<std::pair<std::string, std::string>>;

Records sign_records(nb::handle texts, nb::handle ids, nb::handle dates, const Sets& sets,
                     const std::string& hash_key, nb::handle progress) {
  const SigningSettings settings = value_or_raise(signing_settings(sets, hash_key));
  const TextColumn text = text_column(texts, "texts");
  const TextColumn id = id_column(ids, "ids");
  std::vector<int64_t> times;
  if (!dates.is_none()) times = time_column(dates, "dates");
  check_lengths(text.values.size(), &id, dates.is_none() ? nullptr : &times);
  auto out = std::make_shared<TextBuffer>();
  Watch watch(progress);
  absl::Status status;
  {
    const nb::gil_scoped_release release;
    status = sign_documents(
        settings, text.values, id.values, times, [&](uint64_t done) { return watch.go_on(done); }, *out);
  }
  raise_if_error(status);
  watch.finish(out->size());
  return {std::move(out)};
}

nb::bytes record_at(const Records& records, size_t i) {
  if (i >= records.bytes->size()) throw nb::index_error("no such row");
  const std::string_view bytes = (*records.bytes)[i];
  return nb::bytes(bytes.data(), bytes.size());
}

// An Arrow array of large_binary that refers to the buffer.
struct ArrayParts {
  std::shared_ptr<const TextBuffer> bytes;
  std::array<const void*, 3> buffers{};
};

template <typename T>
nb::capsule capsule_of(T* owned, const char* name) {
  return nb::capsule(owned, name, [](void* pointer) noexcept {
    auto* value = static_cast<T*>(pointer);
    if (value->release != nullptr) value->release(value);
    delete value;
  });
}

nb::tuple arrow_array(const Records& records) {
  auto* schema = new ArrowSchema{
      .format = "Z", .name = "", .release = [](ArrowSchema* self) { self->release = nullptr; }};
  const nb::capsule schema_capsule = capsule_of(schema, "arrow_schema");
  auto* parts = new ArrayParts{.bytes = records.bytes};
  parts->buffers = {nullptr, parts->bytes->ends().data(), parts->bytes->data().data()};
  auto* array = new ArrowArray{.length = static_cast<int64_t>(parts->bytes->size()),
                               .n_buffers = static_cast<int64_t>(parts->buffers.size()),
                               .buffers = parts->buffers.data(),
                               .release =
                                   [](ArrowArray* self) {
                                     delete static_cast<ArrayParts*>(self->private_data);
                                     self->release = nullptr;
                                   },
                               .private_data = parts};
  return nb::make_tuple(schema_capsule, capsule_of(array, "arrow_array"));
}

}  // namespace

void bind_records(nb::module_& m) {
  nb::class_<Records>(m, "Records", "Signed records of documents.")
      .def("__len__", [](const Records& r) { return r.bytes->size(); })
      .def("record", record_at, nb::arg("row"))
      .def_static(
          "of",
          [](const nb::list& records) {
            auto out = std::make_shared<TextBuffer>();
            for (const nb::handle record : records) {
              const auto bytes = nb::cast<nb::bytes>(record);
              out->add({bytes.c_str(), bytes.size()});
            }
            return Records{std::move(out)};
          },
          nb::arg("records"))
      .def("arrow_array", arrow_array);
  m.def("sign_records", sign_records, nb::arg("texts").none(), nb::arg("ids").none(), nb::arg("dates").none(),
        nb::arg("sets"), nb::arg("hash_key"), nb::arg("progress").none());
}

}  // namespace doppel::python

// Binds MinHash and MinHashIndex. Their calls are short, so they keep the GIL.
#include <map>

#include "bind.h"
#include "errors.h"
#include "minhash.h"
#include "nanobind/ndarray.h"
#include "nanobind/stl/pair.h"
#include "nanobind/stl/unique_ptr.h"
#include "nanobind/stl/vector.h"

namespace doppel::python {
namespace {

// There are few kinds, and each takes time to make. Guarded by the GIL.
std::shared_ptr<const SketchKind> kind_of(uint64_t seed, int num_perm) {
  static std::map<std::pair<uint64_t, int>, std::weak_ptr<const SketchKind>> kinds;
  std::weak_ptr<const SketchKind>& known = kinds[{seed, num_perm}];
  std::shared_ptr<const SketchKind> kind = known.lock();
  if (kind == nullptr) known = kind = std::make_shared<const SketchKind>(seed, num_perm);
  return kind;
}

std::string_view bytes_of(nb::handle element) {
  char* data = nullptr;
  Py_ssize_t size = 0;
  if (!PyBytes_Check(element.ptr())) {
    throw nb::type_error((std::string("elements are bytes, not ") + nb::type_name(element.type()).c_str() +
                          "; encode them: \"word\".encode()")
                             .c_str());
  }
  if (PyBytes_AsStringAndSize(element.ptr(), &data, &size) != 0) throw nb::python_error();
  return {data, static_cast<size_t>(size)};
}

nb::object slots_of(MinHash& minhash) {
  auto* slots = new std::vector<uint64_t>(minhash.slots());
  const nb::capsule owner(slots, [](void* p) noexcept { delete static_cast<std::vector<uint64_t>*>(p); });
  return nb::cast(nb::ndarray<nb::numpy, uint64_t, nb::ndim<1>>(slots->data(), {slots->size()}, owner));
}

}  // namespace

void bind_minhash(nb::module_& m) {
  nb::class_<MinHash>(m, "MinHash")
      .def(
          "__init__",
          [](MinHash* self, uint64_t seed, int num_perm) { new (self) MinHash(kind_of(seed, num_perm)); },
          nb::arg("seed"), nb::arg("num_perm"))
      .def("update", [](MinHash& self, nb::handle element) { self.update(bytes_of(element)); })
      .def("update_batch",
           [](MinHash& self, nb::iterable elements) {
             for (nb::handle element : elements) self.update(bytes_of(element));
           })
      .def("merge", &MinHash::merge)
      .def("jaccard", &MinHash::jaccard)
      .def("count", &MinHash::count)
      .def("empty", &MinHash::empty)
      .def("copy", [](const MinHash& self) { return MinHash(self); })
      .def("slots", slots_of)
      .def("set_slots",
           [](MinHash& self, nb::ndarray<const uint64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu> slots) {
             if (slots.shape(0) != static_cast<size_t>(self.kind().sketcher.num_perm()))
               throw nb::value_error("not so many slots as num_perm");
             self.set_slots({slots.data(), slots.data() + slots.shape(0)});
           });
  nb::class_<MinHashIndex>(m, "MinHashIndex")
      .def_static(
          "create",
          [](double threshold, double recall, int num_perm, int bands, int rows) {
            return value_or_raise(MinHashIndex::create(threshold, recall, num_perm, bands, rows));
          },
          nb::arg("threshold"), nb::arg("recall"), nb::arg("num_perm"), nb::arg("bands"), nb::arg("rows"))
      .def("insert", [](MinHashIndex& self, MinHash& minhash) { return self.insert(minhash.slots()); })
      .def("remove", &MinHashIndex::remove)
      .def("query", [](const MinHashIndex& self, MinHash& minhash) { return self.query(minhash.slots()); })
      .def("counts",
           [](const MinHashIndex& self) {
             nb::list out;
             for (const auto& band : self.counts()) {
               nb::dict counts;
               for (const auto& [key, count] : band) counts[nb::int_(key)] = count;
               out.append(counts);
             }
             return out;
           })
      .def_prop_ro("bands", [](const MinHashIndex& self) { return self.banding().bands; })
      .def_prop_ro("rows", [](const MinHashIndex& self) { return self.banding().rows; });
}

}  // namespace doppel::python

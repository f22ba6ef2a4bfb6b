// Binds columns of verdicts as doppel_dedup._core.Columns.
#include "bind.h"
#include "nanobind/ndarray.h"
#include "nanobind/stl/string.h"
#include "records/events.h"
#include "verdicts_arrow.h"

namespace doppel::python {
namespace {

template <typename T>
auto array_of(const Columns& columns, const std::vector<T>& values) {
  auto* keep = new std::shared_ptr<const Verdicts>(columns.verdicts);
  const nb::capsule owner(keep,
                          [](void* p) noexcept { delete static_cast<std::shared_ptr<const Verdicts>*>(p); });
  return nb::ndarray<nb::numpy, const T, nb::ndim<1>>(values.data(), {values.size()}, owner);
}

// Arrays own their memory, so the property needs to keep nothing alive.
constexpr auto kOwned = nb::rv_policy::automatic;

nb::object text(std::string_view bytes) {
  PyObject* out =
      PyUnicode_DecodeUTF8(bytes.data(), static_cast<Py_ssize_t>(bytes.size()), "surrogateescape");
  if (out == nullptr) throw nb::python_error();
  return nb::steal(out);
}

nb::list texts(const TextBuffer& buffer, const Verdicts* missing_but_of) {
  nb::list out;
  for (size_t i = 0; i < buffer.size(); ++i) {
    const bool missing =
        missing_but_of != nullptr && static_cast<Verdict>(missing_but_of->verdict[i]) != Verdict::duplicate;
    out.append(missing ? nb::none() : text(buffer[i]));
  }
  return out;
}

nb::tuple row(const Columns& columns, size_t i) {
  const Verdicts& v = *columns.verdicts;
  if (i >= v.size()) throw nb::index_error("no such row");
  const bool duplicate = static_cast<Verdict>(v.verdict[i]) == Verdict::duplicate;
  const std::string_view verdict = verdict_name(static_cast<Verdict>(v.verdict[i]));
  return nb::make_tuple(text(v.id[i]), text(verdict), duplicate ? text(v.original[i]) : nb::none(),
                        duplicate ? nb::object(nb::float_(v.similarity[i])) : nb::none(),
                        duplicate ? text(kind_name(static_cast<Kind>(v.kind[i]))) : nb::none());
}

// (relation, original, of_document, of_original, [(word_begin, word_end, byte_begin, byte_end)]) of each.
nb::list relations(const Columns& columns, size_t i) {
  const RelationColumns& r = columns.verdicts->relations;
  if (i >= columns.verdicts->size()) throw nb::index_error("no such row");
  const auto place = [](const std::vector<int64_t>& ends, size_t at) {
    return static_cast<size_t>(ends[at]);
  };
  nb::list out;
  for (size_t at = place(r.ends, i); at < place(r.ends, i + 1); ++at) {
    nb::list passages;
    for (size_t p = place(r.passage_ends, at); p < place(r.passage_ends, at + 1); ++p) {
      const bool known = r.byte_begin[p] >= 0;
      passages.append(nb::make_tuple(r.word_begin[p], r.word_end[p],
                                     known ? nb::object(nb::int_(r.byte_begin[p])) : nb::none(),
                                     known ? nb::object(nb::int_(r.byte_end[p])) : nb::none()));
    }
    out.append(nb::make_tuple(text(relation_name(static_cast<Relation>(r.relation[at]))),
                              text(r.original[at]), r.of_document[at], r.of_original[at], passages));
  }
  return out;
}

Columns some_rows(const Columns& columns, const nb::ndarray<const int64_t, nb::ndim<1>, nb::c_contig>& rows,
                  bool renumber) {
  std::vector<size_t> places;
  for (size_t i = 0; i < rows.shape(0); ++i) {
    const int64_t row = rows.data()[i];
    if (row < 0 || static_cast<uint64_t>(row) >= columns.verdicts->size())
      throw nb::index_error("no such row");
    places.push_back(static_cast<size_t>(row));
  }
  return {std::make_shared<Verdicts>(taken(*columns.verdicts, places, renumber))};
}

Columns of_bytes(const nb::bytes& bytes, uint64_t rows) {
  auto verdicts = std::make_shared<Verdicts>();
  ByteReader in(std::string_view(bytes.c_str(), bytes.size()));
  if (!take_rows(in, rows, *verdicts) || !in.done()) throw nb::value_error("bytes: they are no verdicts");
  return {std::move(verdicts)};
}

}  // namespace

void bind_verdicts(nb::module_& m) {
  nb::class_<Columns>(m, "Columns", "What was decided, column by column.")
      .def("__len__", [](const Columns& c) { return c.verdicts->size(); })
      .def("row", row, nb::arg("row"), "(id, verdict, original, similarity, kind)")
      .def("relations", relations, nb::arg("row"),
           "[(relation, original, of_document, of_original, [(word_begin, word_end, byte_begin, byte_end)])]")
      .def_prop_ro(
          "verdict", [](const Columns& c) { return array_of(c, c.verdicts->verdict); }, kOwned,
          "0 unique, 1 duplicate, 2 unscored, 3 rejected")
      .def_prop_ro(
          "kind", [](const Columns& c) { return array_of(c, c.verdicts->kind); }, kOwned,
          "0 none, 1 exact, 2 near, 3 contained")
      .def_prop_ro(
          "similarity", [](const Columns& c) { return array_of(c, c.verdicts->similarity); }, kOwned)
      .def_prop_ro(
          "seq", [](const Columns& c) { return array_of(c, c.verdicts->seq); }, kOwned,
          "the number of a unique document's or the original's place among originals")
      .def(
          "take", some_rows, nb::arg("rows"), nb::arg("renumber") = false,
          "These rows, in this order. renumber: rows whose ids are their numbers get those of the new order.")
      .def("ids", [](const Columns& c) { return texts(c.verdicts->id, nullptr); })
      .def("originals", [](const Columns& c) { return texts(c.verdicts->original, c.verdicts.get()); })
      .def("bytes",
           [](const Columns& c) {
             std::string out;
             put_rows(out, *c.verdicts, 0);
             return nb::bytes(out.data(), out.size());
           })
      .def_static("of_bytes", of_bytes, nb::arg("bytes"), nb::arg("rows"),
                  "What bytes() gave of so many rows.")
      .def("arrow_stream", [](const Columns& c) { return arrow_stream(c.verdicts); });
}

}  // namespace doppel::python

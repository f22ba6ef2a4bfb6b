// Binds functions of texts alone: signatures, and comparing two texts.
#include "base/executor.h"
#include "bind.h"
#include "columns.h"
#include "config/config.h"
#include "errors.h"
#include "insight/explanation.h"
#include "nanobind/ndarray.h"
#include "nanobind/stl/pair.h"
#include "nanobind/stl/string.h"
#include "nanobind/stl/vector.h"
#include "open/setup.h"
#include "record_signing.h"
#include "sketch/sketch.h"
#include "text/shingler.h"
#include "watch.h"

namespace doppel::python {
namespace {

using Sets = std::vector<std::pair<std::string, std::string>>;

// Makes signatures; one per thread.
struct SlotMaker {
  explicit SlotMaker(const Scheme& scheme)
      : shingler(scheme.key, scheme.shingle_words, scheme.normalisation) {}

  void make(const Sketcher& sketcher, std::string_view text, uint64_t* slots) {
    constexpr size_t kStep = 1 << 20;  // limits the memory for shingles of a huge text
    sketcher.clear(slots);
    for (size_t at = 0; at < text.size(); at += kStep) {
      shingler.update(text.substr(at, kStep), shingles);
      take(sketcher, slots);
    }
    shingler.finish(shingles);
    take(sketcher, slots);
  }

  void take(const Sketcher& sketcher, uint64_t* slots) {
    if (!shingles.empty()) sketcher.update(slots, shingles);
    shingles.clear();
  }

  Shingler shingler;
  PodVector<uint64_t> shingles;
};

nb::object sign(nb::handle texts, const Sets& sets, const std::string& hash_key, nb::handle progress) {
  const SigningSettings settings = value_or_raise(signing_settings(sets, hash_key));
  const Scheme& scheme = settings.engine.scheme;
  const TextColumn column = text_column(texts, "texts");
  const size_t n = column.values.size();
  const auto k = static_cast<size_t>(scheme.num_perm);
  auto* slots = new std::vector<uint64_t>(n * k);
  const nb::capsule owner(slots, [](void* p) noexcept { delete static_cast<std::vector<uint64_t>*>(p); });
  Watch watch(progress);
  {
    const nb::gil_scoped_release release;
    const Sketcher sketcher(scheme.family, scheme.num_perm, scheme.key);
    Executor executor(n < 32 ? 1 : thread_count(settings.options));
    std::vector<SlotMaker> makers;
    for (int i = 0; i < executor.threads(); ++i) makers.emplace_back(scheme);
    constexpr size_t kSlice = 256;
    for (size_t at = 0; at < n && watch.go_on(at); at += kSlice) {
      executor.run(std::min(kSlice, n - at), 16, [&](int worker, size_t begin, size_t end) {
        for (size_t i = at + begin; i < at + end; ++i)
          makers[worker].make(sketcher, column.values[i], slots->data() + i * k);
      });
    }
  }
  watch.finish(n);
  return nb::cast(nb::ndarray<nb::numpy, uint64_t, nb::ndim<2>>(slots->data(), {n, k}, owner));
}

nb::object overlap_of(const Overlap& overlap) { return nb::make_tuple(overlap.inter, overlap.uni); }

nb::dict explain_two(nb::handle a, nb::handle b, const Sets& sets, const std::string& hash_key) {
  const SigningSettings settings = value_or_raise(signing_settings(sets, hash_key));
  nb::list both;
  both.append(a);
  both.append(b);
  const TextColumn texts = text_column(both, "texts");
  Explanation e;
  {
    const nb::gil_scoped_release release;
    e = explain(settings.engine, {.name = "a", .text = texts.values[0], .scope = {}},
                {.name = "b", .text = texts.values[1], .scope = {}});
  }
  const PlainWords words = in_plain_words(e);
  nb::dict out;
  const std::string finding(finding_name(e.finding));
  out["finding"] = finding;
  out["duplicate"] = is_duplicate(e.finding);
  out["exact"] = e.finding == Finding::exact;
  out["comparable"] = e.comparable;
  out["overlap"] = overlap_of(e.decisive);
  out["shingles"] = overlap_of(e.exact);
  out["estimate"] = e.slots;
  out["bands_met"] = e.bands_met();
  out["bands"] = e.rule.banding.bands;
  out["rows"] = e.rule.banding.rows;
  out["headline"] = words.headline;
  out["sentences"] = words.sentences;
  return out;
}

}  // namespace

void bind_texts(nb::module_& m) {
  m.def("sign", sign, nb::arg("texts").none(), nb::arg("sets"), nb::arg("hash_key"),
        nb::arg("progress").none());
  m.def("explain", explain_two, nb::arg("a").none(), nb::arg("b").none(), nb::arg("sets"),
        nb::arg("hash_key"));
  m.def(
      "settings",
      [] {
        nb::list names;
        for (const KeyInfo& key : config_keys()) names.append(key.name);
        return names;
      },
      "The keys of doppel.yaml.");
}

}  // namespace doppel::python

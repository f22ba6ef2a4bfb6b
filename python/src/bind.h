#pragma once
// Registers the parts of the module doppel_dedup._core.

#include <memory>

#include "nanobind/nanobind.h"
#include "verdicts.h"

namespace doppel::python {

namespace nb = nanobind;

struct Columns {
  std::shared_ptr<const Verdicts> verdicts;
};

struct Records {
  std::shared_ptr<const TextBuffer> bytes;
};

void bind_verdicts(nb::module_& m);
void bind_index(nb::module_& m);
void bind_texts(nb::module_& m);
void bind_records(nb::module_& m);
void bind_minhash(nb::module_& m);
void bind_evals(nb::module_& m);
void bind_report(nb::module_& m);

}  // namespace doppel::python

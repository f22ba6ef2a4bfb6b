#pragma once
// Exports verdicts through the Arrow C stream interface.

#include <memory>

#include "nanobind/nanobind.h"
#include "verdicts.h"

namespace doppel::python {

// A capsule "arrow_array_stream" of one batch with the columns id, verdict, original, similarity, kind and
// cluster, and relations if the index knows them. The exported memory needs neither the GIL nor Python.
nanobind::capsule arrow_stream(std::shared_ptr<const Verdicts> verdicts);

}  // namespace doppel::python

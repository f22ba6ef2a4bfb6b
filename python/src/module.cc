// doppel_dedup._core, the compiled part of the package. Users see the Python modules above it.
#include "base/log.h"
#include "bind.h"

namespace {

namespace nb = nanobind;

// Log lines go to Python's logger "doppel_dedup".
void log_in_python(doppel::log::Level level, std::string_view text) {
  const nb::gil_scoped_acquire acquire;
  try {
    nb::object logger = nb::module_::import_("logging").attr("getLogger")("doppel_dedup");
    // Python's levels are 10 for debug, then 20, 30 and 40.
    logger.attr("log")((static_cast<int>(level) + 1) * 10, "%s", nb::str(text.data(), text.size()));
  } catch (nb::python_error& error) {
    error.discard_as_unraisable("doppel_dedup");
  }
}

}  // namespace

NB_MODULE(_core, m) {
  m.doc() = "The compiled part of doppel_dedup; not for direct use.";
  doppel::log::set_receiver(log_in_python);
  doppel::python::bind_verdicts(m);
  doppel::python::bind_index(m);
  doppel::python::bind_texts(m);
  doppel::python::bind_records(m);
  doppel::python::bind_minhash(m);
  doppel::python::bind_evals(m);
  doppel::python::bind_report(m);
}

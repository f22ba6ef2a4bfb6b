// doppel_dedup._core, the compiled part of the package. Users see the Python modules above it.
#include "bind.h"

NB_MODULE(_core, m) {
  m.doc() = "The compiled part of doppel_dedup; not for direct use.";
  doppel::python::bind_verdicts(m);
  doppel::python::bind_index(m);
  doppel::python::bind_texts(m);
  doppel::python::bind_records(m);
  doppel::python::bind_minhash(m);
  doppel::python::bind_evals(m);
}

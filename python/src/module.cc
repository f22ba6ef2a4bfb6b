// doppel_dedup._core: what the package is made of. Users see the modules of Python above it.
#include "bind.h"

NB_MODULE(_core, m) {
  m.doc() = "The compiled part of doppel_dedup; not for direct use.";
  doppel::python::bind_verdicts(m);
  doppel::python::bind_index(m);
  doppel::python::bind_texts(m);
  doppel::python::bind_records(m);
  doppel::python::bind_minhash(m);
}

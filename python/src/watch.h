#pragma once
// What a long call does now and then without the GIL: hears Ctrl-C, and calls back how far it is.

#include <chrono>
#include <cstdint>

#include "nanobind/nanobind.h"

namespace doppel::python {

class Watch {
 public:
  // `progress`: called with how many documents are done; None: nobody is.
  explicit Watch(nanobind::handle progress) : progress_(progress) {}

  // False: a signal or the callback has raised an exception, which is set. Called without the GIL.
  bool go_on(uint64_t done) {
    const auto now = std::chrono::steady_clock::now();
    if (raised_ || now - asked_ < std::chrono::milliseconds(50)) return !raised_;
    asked_ = now;
    const nanobind::gil_scoped_acquire gil;
    raised_ = PyErr_CheckSignals() != 0 || !call(done);
    return !raised_;
  }
  // At the end, with the GIL: throws what was raised; else calls back once more.
  void finish(uint64_t done) {
    if (raised_ || !call(done)) throw nanobind::python_error();
  }

 private:
  bool call(uint64_t done) {
    if (progress_.is_none()) return true;
    PyObject* result = PyObject_CallFunction(progress_.ptr(), "K", static_cast<unsigned long long>(done));
    Py_XDECREF(result);
    return result != nullptr;
  }

  nanobind::handle progress_;
  std::chrono::steady_clock::time_point asked_ = std::chrono::steady_clock::now();
  bool raised_ = false;
};

}  // namespace doppel::python

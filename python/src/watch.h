#pragma once
// Regular work of a long call that runs without the GIL: notices Ctrl-C, and reports progress.

#include <chrono>
#include <cstdint>

#include "nanobind/nanobind.h"

namespace doppel::python {

class Watch {
 public:
  // `progress` is called with the number of finished documents; None: no calls.
  explicit Watch(nanobind::handle progress) : progress_(progress) {}

  // Call it without the GIL. Returns false if a signal or the callback raised an exception, which stays
  // set.
  bool go_on(uint64_t done) {
    const auto now = std::chrono::steady_clock::now();
    if (raised_ || now - asked_ < std::chrono::milliseconds(50)) return !raised_;
    asked_ = now;
    const nanobind::gil_scoped_acquire gil;
    raised_ = PyErr_CheckSignals() != 0 || !call(done);
    return !raised_;
  }
  // Call it at the end, with the GIL. Throws the exception that was raised, or reports progress a last
  // time.
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

#pragma once
// Base of a stage that adds something to records before they are signed. The source below it does the rest.

#include <cstdint>
#include <functional>

#include "pipeline/stream.h"

namespace doppel {

// `Kind`: Source, or a class derived from it. `inner` must outlive this.
template <typename Kind>
class SourceOver : public Kind {
 public:
  bool live() const override { return inner_.live(); }
  bool in_background() const override { return inner_.in_background(); }
  void ask_before_closing(const std::function<bool()>& wanted) override { inner_.ask_before_closing(wanted); }
  uint64_t bytes_total() const override { return inner_.bytes_total(); }
  uint64_t bytes_read() const override { return inner_.bytes_read(); }

 protected:
  explicit SourceOver(Source& inner) : inner_(inner) {}
  Source& inner_;
};

}  // namespace doppel

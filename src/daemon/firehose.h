#pragma once
// Detects that doppel reads a topic with all documents together with topics that hold copies of them, so that
// nearly every document comes twice.

#include <cstdint>
#include <string>

#include "pipeline/pipeline.h"

namespace doppel {

class FirehoseWatch {
 public:
  // Checks the first kDocuments documents. Returns a warning, once, if more than nine in ten are copies with
  // the URL and time of an original in another topic. Otherwise returns an empty text.
  std::string observe(const Decided& decided);

 private:
  static constexpr uint64_t kDocuments = 1000;
  uint64_t documents_ = 0, copies_ = 0;
  bool done_ = false;
};

}  // namespace doppel

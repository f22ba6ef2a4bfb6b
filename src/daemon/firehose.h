#pragma once
// Detects that a topic with all documents and the topics with its copies are read together: then nearly
// every document comes twice.

#include <cstdint>
#include <string>

#include "pipeline/pipeline.h"

namespace doppel {

class FirehoseWatch {
 public:
  // Checks the first documents. If more than nine in ten are copies with the URL and time of an original in
  // another topic, it returns the warning, once; else an empty text.
  std::string observe(const Decided& decided);

 private:
  static constexpr uint64_t kDocuments = 1000;
  uint64_t documents_ = 0, copies_ = 0;
  bool done_ = false;
};

}  // namespace doppel

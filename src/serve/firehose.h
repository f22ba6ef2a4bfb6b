#pragma once
// Notices that a topic with everything and the topics that it is copied to are read together: then nearly
// every document comes twice.

#include <cstdint>
#include <string>

#include "stream/pipeline.h"

namespace doppel {

class FirehoseWatch {
 public:
  // Looks at the first documents; of more than nine in ten copies with the URL and time of an original in
  // another topic, the warning, once; else empty.
  std::string observe(const Decided& decided);

 private:
  static constexpr uint64_t kDocuments = 1000;
  uint64_t documents_ = 0, copies_ = 0;
  bool done_ = false;
};

}  // namespace doppel
